#include "sim/job_plan.hpp"

#include <fmt/core.h>

namespace sumac::sim {

JobPlan make_job_plan(std::uint64_t seed) {
  JobPlan plan;
  plan.group = make_recovery_plan(2 * seed);  // Even ones are no named case.
  Random r(seed * 0x9e3779b97f4a7c15ull + 37);
  plan.group.name = "a job";
  plan.group.strikes.clear();
  plan.group.strikes_early = false;
  plan.group.odd_rank = -1;
  plan.group.base.multicast = false;
  const auto below = [&](std::uint64_t most) { return static_cast<std::uint32_t>(r.below(most)); };
  plan.leaves = 2 + below(2);
  plan.hosts_per_leaf = 1 + below(2);
  const std::uint32_t hosts = plan.leaves * plan.hosts_per_leaf, ranks = plan.group.ranks();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) plan.host.push_back(rank * hosts / ranks);
  // Members with many calls that compute between them are still there when the manager gives the job another tree.
  const std::size_t drawn_operations = plan.group.ops.size();
  for (std::size_t i = drawn_operations + 20 + below(40); plan.group.ops.size() < i;)
    plan.group.ops.push_back(plan.group.ops[plan.group.ops.size() % drawn_operations]);
  for (Duration& each : plan.group.think) each = r.chance(0.7) ? Millis(1 + below(40)) : Micros(below(500));
  plan.node_away = Millis(20 + below(200));
  const std::uint32_t kills = 1 + below(4);
  bool one_rank_dies = false;
  for (std::uint32_t i = 0; i < kills; ++i) {
    Kill kill{.after = Millis(below(300)), .away = Millis(1 + below(r.chance(0.3) ? 3000 : 300))};
    const std::uint32_t drawn = below(10);
    if (drawn < 5) {
      kill.whom = Kill::Whom::node;
      kill.target = below(plan.leaves + 1);
      kill.stays_away = r.chance(0.3);
    } else if (drawn < 7) {
      kill.whom = Kill::Whom::manager;
    } else if (drawn < 9) {
      kill.whom = Kill::Whom::sharpd;
      kill.target = below(hosts);
    } else {
      if (std::exchange(one_rank_dies, true)) continue;
      kill.whom = Kill::Whom::rank;
      kill.target = below(ranks);
      kill.stays_away = true;
    }
    plan.kills.push_back(kill);
  }
  return plan;
}

std::string JobPlan::describe() const {
  static constexpr const char* kNames[] = {"node", "manager", "sharpd", "rank"};
  std::string text = group.describe();
  text += fmt::format("  {} leaves of {} hosts; a node may be away for {} ms\n", leaves, hosts_per_leaf,
                      node_away / Millis(1));
  for (const Kill& each : kills)
    text += fmt::format("  kill {} {} after {} ms, {}\n", kNames[static_cast<std::size_t>(each.whom)], each.target,
                        each.after / Millis(1),
                        each.stays_away ? "for good" : fmt::format("for {} ms", each.away / Millis(1)));
  return text;
}

}  // namespace sumac::sim
