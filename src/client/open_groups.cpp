#include "client/open_groups.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "client/comm.hpp"
#include "client/context.hpp"

namespace sumac::client {
namespace {

using State = proto::OpenOutcome::State;

struct Asked {
  std::uint32_t tree = 0;
  std::uint64_t token = 0;
  proto::OpenOutcome outcome{};
};

Outcome<> read(const Asked& asked, const TreeLink& link, Millis waited) {
  switch (asked.outcome.state) {
    case State::opened: return {};
    case State::pending:
      return failure(SHARP_COLL_EGROUP_ALLOC,
                     "no group id: the tree's root did not answer in {} ms; look at the log of sharp_an",
                     waited.count());
    case State::refused:
      if (asked.outcome.refusal.reason == wire::RefuseReason::no_group_id)
        return no_room(failure(SHARP_COLL_EGROUP_ALLOC,
                               "sharp_alloc_groups_info failed: No available groups(-11): {}; destroy a communicator, "
                               "or ask for more with SHARP_COLL_JOB_QUOTA_MAX_GROUPS",
                               proto::describe(asked.outcome.refusal)));
      return failure(SHARP_COLL_EGROUP_JOIN, "{}", proto::describe(asked.outcome.refusal));
    case State::lost: break;
  }
  return failure(SHARP_COLL_ECONN_TREE, "connection to the aggregation node: {}", link.why_closed());
}

}  // namespace

tl::unexpected<Failure> trees_changed() {
  return failure(SHARP_COLL_ECONN_TREE,
                 "the job has got other trees while its ranks made a communicator: make that again");
}

TreeMask closed_trees(Context& context) {
  auto guard = context.lock();
  context.progress();  // A connection may have ended while the program did something else.
  TreeMask closed = 0;
  const auto& links = context.links();
  for (std::size_t tree = 0; tree < links.size(); ++tree)
    if (links[tree]->closed()) closed |= TreeMask{1} << tree;
  return closed;
}

std::size_t groups_wanted(const Context& context, std::size_t trees) {
  return std::clamp<std::size_t>(context.config().groups_per_comm, trees, kChannelsMax);
}

Outcome<OpenedGroups> open_groups(Context& context, std::uint32_t members, TreeMask unusable) {
  std::vector<Asked> asked;
  const auto& links = context.links();
  OpenedGroups opened;
  {
    auto guard = context.lock();
    opened.generation = context.generation();
    std::vector<std::uint32_t> trees;
    for (std::uint32_t tree = 0; tree < links.size(); ++tree)
      if ((unusable >> tree & 1) == 0) trees.push_back(tree);
    if (trees.empty())
      return failure(SHARP_COLL_ECONN_TREE, "no tree of the job is reached by all members of the communicator");
    for (std::size_t i = 0; i < groups_wanted(context, trees.size()); ++i) {
      asked.push_back({trees[i % trees.size()], context.next_token(), {}});
      links[asked.back().tree]->engine().open(asked.back().token, members, monotonic_now());
    }
  }
  const auto settled = [&] {
    if (context.generation() != opened.generation) return true;  // The links are to other nodes.
    bool all = true;
    for (auto& one : asked) {
      one.outcome = links[one.tree]->engine().open_outcome(one.token);
      all = all && one.outcome.state != State::pending;
    }
    return all;
  };
  const Patience patience(context.config().job_create_timeout);
  context.wait_until(settled, patience);

  auto guard = context.lock();
  if (context.generation() != opened.generation) return trees_changed();
  std::optional<Failure> first;
  for (const auto& one : asked) {
    auto& link = *links[one.tree];
    link.engine().forget_open(one.token);
    if (auto answer = read(one, link, patience.waited()); !answer) {
      if (!first) first = answer.error();
      continue;
    }
    opened.group[opened.count++] = {one.tree, one.outcome.group_id};
  }
  opened.lasts = opened.count == 1 && Comm::would_last(context, members);
  if (opened.count == 0) return tl::unexpected(*first);
  if (first)
    SUMAC_WARN(context.log(), "a communicator has {} groups instead of {}: {}", opened.count, asked.size(),
               first->text);
  return opened;
}

}  // namespace sumac::client
