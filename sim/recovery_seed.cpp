#include "sim/recovery_seed.hpp"

#include "sim/recovery_lasting_world.hpp"

namespace sumac::sim {

void LastingWorld::final_checks() {
  fail(judge(plan_, members_));
  for (auto& each : members_) report_.verdicts += each->verdict ? 1 : 0;
  for (auto& each : members_) {
    if (each->group && !each->dies && each->group->bytes_kept() != 0)
      fail(fmt::format("rank {} still keeps {} bytes", each->rank, each->group->bytes_kept()));
    each->group.reset();
  }
  const bool all_stood = std::ranges::all_of(members_, [](const auto& each) { return each->has_stood; });
  if (!all_stood && !may_be_refused()) fail("a member was refused");
  if (!all_stood || !failure_.empty()) return;  // A tree that waits for a Join is not tidied by its members.
  // The nodes that live learn of the end; then nothing is left there.
  const Time end = network_.now() + Seconds(1);
  const auto idle = [](const auto& node) { return node->is_dead || node->engine->idle(); };
  while (network_.now() < end && !(std::ranges::all_of(nodes_, idle) && network_.in_flight() == 0) && network_.step())
    ;
  // The rest of a tree that lost a node keeps ids and Leaves that the node would have passed on, until the job ends.
  const bool all_live = std::ranges::none_of(nodes_, [](const auto& node) { return node->is_dead; });
  // A later tree may keep the group of a try that failed.
  for (const auto& node : nodes_)
    if (all_live && node->end < tree_size()) {
      fail(left_behind(*node, false));
      if (node->kernel && node->kernel->groups() != 0)
        fail(fmt::format("a group stays in the kernel of node {}", node->end));
    }
  end_job();
  for (auto& node : nodes_)
    if (node->is_dead) node->engine.reset();
  if (const auto held = network_.buffers_in_use(); held != 0 && network_.in_flight() == 0)
    fail(fmt::format("{} buffers are still held", held));
}

Report run_recovery_seed(std::uint64_t seed, int verbose) {
  const RecoveryPlan plan = make_recovery_plan(seed);
  LastingWorld world(plan, verbose);
  return world.run();
}

Report run_datagram_recovery_seed(std::uint64_t seed, int verbose) {
  const RecoveryPlan plan = make_datagram_plan(seed);
  LastingWorld world(plan, verbose);
  return world.run();
}

}  // namespace sumac::sim
