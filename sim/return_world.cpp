#include "sim/return_world.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/fnv.hpp"
#include "proto/recovery_return.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::sim {
namespace {

using namespace proto::recovery;
using Action = Return::Action;

struct One {
  Return machine;
  std::uint32_t begun = 0;
  bool joins = false, stands = false, held = false, gone = false;
  std::vector<Proposal> to;     ///< Under way from member 0.
  std::vector<Readiness> from;  ///< Under way to member 0.
};

struct World {
  ReturnCase left;
  std::vector<One> members;
  bool may_fail = false;  ///< Somebody has said no.

  explicit World(const ReturnCase& plan) : left(plan) {
    for (Rank rank = 0; rank < plan.members; ++rank)
      members.push_back({Return(rank, plan.members), 0, false, false, false, false, {}, {}});
  }

  /// Does what the machines want, and puts their messages on their way.
  void settle() {
    for (Rank rank = 0; rank < members.size(); ++rank) {
      One& one = members[rank];
      for (auto actions = one.machine.take_actions(); !actions.empty(); actions = one.machine.take_actions())
        for (const Action action : actions) act(one, action);
      for (const Rank to : one.machine.take_sends())
        if (rank == 0)
          members[to].to.push_back(one.machine.proposal());
        else if (one.machine.readiness().state != Readiness::State::none)
          one.from.push_back(one.machine.readiness());
    }
  }
  static void act(One& one, Action action) {
    switch (action) {
      case Action::join: one.joins = true; break;
      case Action::drop: one.joins = one.stands = false; break;
      case Action::hold:
        one.held = keeps(Rule::return_holds);
        one.machine.holds(one.begun);
        break;
      case Action::free: one.held = false; break;
      case Action::go: one.gone = true; break;
    }
  }

  bool may_begin(const One& one) const {
    return one.begun < left.operations && (one.gone ? one.begun < one.machine.proposal().first : !one.held);
  }

  /// Calls `take(world, is_due)` for each world that may follow.
  void each_next(const std::function<void(World, bool)>& take) const {
    const auto with = [&](bool is_due, const auto& change) {
      World next = *this;
      change(next);
      next.settle();
      take(std::move(next), is_due);
    };
    if (left.proposals > 0 && members[0].machine.may_propose())
      with(true, [](World& w) {
        --w.left.proposals;
        w.members[0].machine.propose(TreeId{1}, GroupId{static_cast<std::uint32_t>(w.left.proposals) + 1});
      });
    if (left.withdrawals > 0)
      with(false, [](World& w) { w.may_fail = true, --w.left.withdrawals, w.members[0].machine.withdraw(); });
    for (Rank rank = 0; rank < members.size(); ++rank) {
      const One& one = members[rank];
      if (may_begin(one)) with(false, [&](World& w) { ++w.members[rank].begun; });
      if (one.joins && !one.stands)
        with(true, [&](World& w) { w.members[rank].stands = true, w.members[rank].machine.stands(); });
      if (one.joins && left.refusals > 0)
        with(false, [&](World& w) { w.may_fail = true, --w.left.refusals, w.members[rank].machine.cannot(); });
      if (!one.to.empty())
        with(true, [&](World& w) {
          auto& to = w.members[rank].to;
          const Proposal heard = to.front();
          to.erase(to.begin());
          w.members[rank].machine.hear(0, heard);
        });
      if (!one.from.empty())
        with(true, [&](World& w) {
          auto& from = w.members[rank].from;
          const Readiness heard = from.front();
          from.erase(from.begin());
          w.members[0].machine.hear(rank, heard);
        });
      if (rank != 0 && left.breaks > 0)
        with(false, [&](World& w) {
          --w.left.breaks;
          w.members[rank].to.clear();
          w.members[rank].from.clear();
          w.members[0].machine.lost_link(rank);
          w.members[rank].machine.lost_link(0);
        });
    }
  }

  std::string wrong() const {
    const auto gone = std::ranges::find_if(members, &One::gone);
    if (gone == members.end()) return {};
    for (const One& one : members) {
      if (one.gone && one.machine.proposal() != gone->machine.proposal()) return "two members go to different places";
      if (!one.stands) return "a member goes before all stand";
      if (one.begun > gone->machine.proposal().first) return "an operation was begun twice";
    }
    return {};
  }
  std::string wrong_at_the_end() const {
    const auto gone = std::ranges::count_if(members, &One::gone);
    if (gone != 0 && gone != static_cast<std::ptrdiff_t>(members.size())) return "some have gone and others never will";
    if (gone == 0 && std::ranges::any_of(members, &One::held)) return "a member holds for ever";
    return gone == 0 && !may_fail ? "nobody goes" : "";
  }

  std::uint64_t hash() const {
    std::uint64_t all = fnv1a(kFnvBegins, static_cast<std::uint64_t>(may_fail));
    const auto add = [&](std::uint64_t value) { all = fnv1a(all, value); };
    const auto add_proposal = [&](const Proposal& p) {
      for (const std::uint64_t each : {std::uint64_t{p.attempt}, static_cast<std::uint64_t>(p.stage),
                                       std::uint64_t{number_of(p.group)}, std::uint64_t{p.first}})
        add(each);
    };
    const auto add_readiness = [&](const Readiness& r) {
      for (const std::uint64_t each :
           {std::uint64_t{r.attempt}, static_cast<std::uint64_t>(r.state), std::uint64_t{r.begun}})
        add(each);
    };
    for (const int each : {left.proposals, left.refusals, left.withdrawals, left.breaks})
      add(static_cast<std::uint64_t>(each));
    for (const One& one : members) {
      add(one.begun << 4 | one.joins << 3 | one.stands << 2 | one.held << 1 | static_cast<unsigned>(one.gone));
      add_proposal(one.machine.proposal());
      for (const Readiness& each : one.machine.heard()) add_readiness(each);
      add(one.to.size());
      for (const Proposal& each : one.to) add_proposal(each);
      add(one.from.size());
      for (const Readiness& each : one.from) add_readiness(each);
    }
    return all;
  }
};

}  // namespace

ReturnFound explore_return(const ReturnCase& plan) {
  std::deque<World> open{World(plan)};
  std::unordered_set<std::uint64_t> seen{open.front().hash()};
  ReturnFound found;
  while (!open.empty() && found.wrong.empty()) {
    const World here = std::move(open.front());
    open.pop_front();
    bool is_end = true;
    here.each_next([&](World next, bool is_due) {
      is_end = is_end && !is_due;
      if (!seen.insert(next.hash()).second || !found.wrong.empty()) return;
      found.wrong = next.wrong();
      open.push_back(std::move(next));
    });
    if (is_end && found.wrong.empty()) found.wrong = here.wrong_at_the_end();
  }
  found.states = seen.size();
  return found;
}

}  // namespace sumac::sim
