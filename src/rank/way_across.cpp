#include "rank/way_across.hpp"

#include <fmt/format.h>

#include <optional>

#include "rank/join.hpp"
#include "rank/oob.hpp"
#include "rank/peers.hpp"

namespace sumac::rank {

/// A team's `across` owns this.
struct Ways {
  const Members& members;
  std::shared_ptr<p2p::TeamGroups> hosts{};
  std::shared_ptr<Job> job{};  ///< Set if the team has a tree.
  sumac_joined tree{};
  std::string no_tree{};
  ~Ways() { leave_tree(*this); }
};

std::shared_ptr<Job> leave_tree(Ways& ways) {
  if (!ways.job) return nullptr;
  sumac_tree_leave(&ways.tree);
  if (ways.hosts->begin_to_leave()) ways.job->keep(ways.hosts, ways.members);
  return std::move(ways.job);
}

/// Collective over the team.
Result<> WayAcross::join(const std::vector<int>& leaders, int my_index, Ways& ways, std::int64_t* agreed) {
  auto found = Job::find(exchange, members, options);
  if (!found) return tl::unexpected(found.error());
  if (!found->job) {
    ways.no_tree = found->why_not;
    return {};
  }
  const auto& job = ways.job = found->job;
  Oob team(exchange, name);
  const std::unique_ptr<Exchange> among_leaders = exchange.among(leaders);
  std::optional<Oob> their;
  if (my_index >= 0) their.emplace(*among_leaders, name);
  const sumac_join_spec spec{.hosts = members.hosts,
                             .team = &team.record(),
                             .leaders = their ? &their->record() : nullptr,
                             .settings = &job->settings(),
                             .options = options};
  {
    const TreeBound bound(exchange);
    if (sumac_tree_join(&spec, &ways.tree, agreed) != 0) return fail(Errc::no_memory, "no memory for the tree");
  }
  if (ways.tree.group != nullptr) {
    std::vector<const char*> names;
    for (const int rank : leaders) names.push_back(members.name(rank).c_str());
    sumac_tree_names(ways.tree.group, names.data(), names.size());
  }
  return {};
}

Result<std::unique_ptr<Ways>> WayAcross::find(const std::vector<int>& leaders, int my_index, std::int64_t* agreed) {
  std::unique_ptr<Ways> ways(new Ways{members});
  auto made = p2p::TeamGroups::make({.ranks = members,
                                     .leaders = leaders,
                                     .host_name = members.all[static_cast<std::size_t>(members.rank)].host,
                                     .reproducible = sumac_team_options_reproducible(options) != 0,
                                     .exchange = blobs_by(exchange),
                                     .connect_within = std::chrono::ceil<Millis>(exchange.left()),
                                     .check = [this] { return exchange.check(); },
                                     .messages = messages});
  if (!made) {
    // A connection that another rank has closed says less than that rank's reason.
    auto others = exchange.check();
    return tl::unexpected(others ? made.error() : others.error());
  }
  ways->hosts = *std::move(made);
  if (auto joined = join(leaders, my_index, *ways, agreed); !joined)
    // The others must read this before the groups here end, which wait until all members leave.
    return tl::unexpected(exchange.give_up(joined.error()));
  return ways;
}

int WayAcross::open(void* context, const int* leaders, int leader_count, int my_index, const void*,
                    std::int64_t* agreed, sumac_across_t* across) {
  auto& self = *static_cast<WayAcross*>(context);
  auto found = self.find({leaders, leaders + leader_count}, my_index, agreed);
  if (!found) {
    // Before this returns, since the team's next exchange is another one than what the other ranks wait for.
    const Error why = self.exchange.give_up(found.error());
    const bool is_kept = why.code == Errc::interrupted || why.code == Errc::timeout;
    self.error = Error{is_kept ? why.code : Errc::lost, why.context};
    return -1;
  }
  auto ways = *std::move(found);
  coll::Across* const network = self.hosts = ways->hosts.get();
  across->network = reinterpret_cast<sumac_network_t*>(network);
  across->close = [](void* owned) { delete static_cast<Ways*>(owned); };
  across->context = self.own_ways = ways.release();
  return 0;
}

int WayAcross::agree(void* context, const std::int64_t* agreed, sumac_across_t* across) {
  auto& self = *static_cast<WayAcross*>(context);
  Ways& ways = *self.own_ways;
  if (ways.job) {
    Oob team(self.exchange, self.name);
    const auto& settings = ways.job->settings();
    const sumac_join_spec spec{
        .hosts = self.members.hosts, .team = &team.record(), .settings = &settings, .options = self.options};
    sumac_tree_agreed(&spec, agreed, &ways.tree);
    if (ways.tree.no_group && settings.level >= HCOLL_FORCE_COMM) {
      self.error =
          Error{Errc::invalid,
                fmt::format("HCOLL_ENABLE_SHARP={} must have a group of the tree for each team, and there is none left",
                            settings.level)};
      return -1;
    }
    if (ways.tree.no_tree != nullptr) ways.no_tree = ways.tree.no_tree;
  }
  across->tree = ways.tree.tree;
  across->no_tree = ways.no_tree.c_str();
  self.has_tree = across->tree != nullptr;
  return 0;
}

}  // namespace sumac::rank
