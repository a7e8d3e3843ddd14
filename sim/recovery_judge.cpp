// Survivors may know some ends of operations differently, and must know the others alike.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "sim/recovery_members.hpp"

namespace sumac::sim {
namespace {

/// An early answer promises that the part is posted, not that the others agree.
bool is_answered_early(const OpPlan& op, std::uint32_t rank, std::uint32_t ranks) {
  if (op.coll == wire::Coll::bcast) return op.root % ranks == rank;
  return op.coll == wire::Coll::reduce && op.root % ranks != rank;
}

std::string judge_operation(const RecoveryPlan& plan, const LastingMembers& members, std::uint32_t index) {
  const LastingMember *completed = nullptr, *failed = nullptr;
  for (const auto& each : members) {
    if (!each->counts() || each->status.size() <= index) continue;
    if (plan.odd_rank >= 0 && index >= plan.odd_operation && each->rank == static_cast<std::uint32_t>(plan.odd_rank))
      continue;  // Its operation is another one.
    if (each->status[index] != Errc::ok)
      failed = each.get();
    else if (!is_answered_early(plan.ops[index], each->rank, plan.ranks()))
      completed = each.get();
  }
  if (completed == nullptr || failed == nullptr) return {};
  // A rank that posted another root may have made it a bcast or a reduce of its own, which completes early.
  if (plan.odd_rank >= 0 && index >= plan.odd_operation) return {};
  return fmt::format("operation {} completed at rank {} and failed at rank {}", index, completed->rank, failed->rank);
}

}  // namespace

void LastingMember::note_message(std::uint32_t to, std::span<const std::byte> head) {
  using namespace proto::recovery;
  static constexpr const char* kBodies[] = {"join",     "joined",   "turn",   "result", "closed",   "condemned", "move",
                                            "expelled", "gives up", "leaves", "left",   "proposal", "readiness"};
  std::uint64_t number = 0;
  if (head.size() >= kHeadBytes + sizeof number) std::memcpy(&number, head.data() + kHeadBytes, sizeof number);
  std::uint32_t epoch = 0;
  std::memcpy(&epoch, head.data() + 8, sizeof epoch);
  client.network.note(fmt::format("rank {} -> rank {} epoch {} {} {}", rank, to, epoch,
                                  kBodies[std::to_integer<std::size_t>(head[3]) - 1], number));
}

std::string still_waiting(const RecoveryPlan& plan, const LastingMembers& members) {
  std::string text;
  for (const auto& each : members)
    if (!each->dies && !each->has_ended)
      text += fmt::format(" rank {} ({}, tree {}, epoch {}, {} of {} operations)", each->rank,
                          each->group ? proto::to_string(each->group->phase()) : "no group",
                          each->group ? proto::to_string(each->group->on_tree().phase()) : "",
                          each->group ? each->group->epoch() : 0, each->completed, plan.ops.size());
  return text;
}

std::string judge(const RecoveryPlan& plan, const LastingMembers& members) {
  std::vector<std::uint32_t> culprits;
  for (const auto& each : members)
    if (!each->counts() || !each->has_stood) culprits.push_back(each->rank);
  const bool disagree = plan.odd_rank >= 0;
  if (disagree) {
    // The one that comes later is named, which may be any of the two sides.
    for (const auto& each : members) culprits.push_back(each->rank);
  }
  const LastingMember* first = nullptr;
  for (const auto& each : members) {
    if (!each->counts() || !each->has_stood) continue;
    const bool all_ok = each->status.size() == plan.ops.size() &&
                        std::ranges::all_of(each->status, [](Errc status) { return status == Errc::ok; });
    if (!all_ok && !each->verdict) return fmt::format("rank {} failed without a verdict", each->rank);
    if (!each->verdict) continue;
    const std::uint32_t culprit = each->verdict->body.culprit;
    if (std::ranges::find(culprits, culprit) == culprits.end())
      return fmt::format("the verdict names rank {}, and nothing happened to it", culprit);
    if (first != nullptr &&
        (first->verdict->body.culprit != culprit || (first->group->ended_in() == each->group->ended_in() &&
                                                     first->verdict->first_failed != each->verdict->first_failed)))
      return fmt::format("the verdicts of ranks {} and {} differ", first->rank, each->rank);
    first = each.get();
  }
  for (std::uint32_t index = 0; index < plan.ops.size(); ++index)
    if (auto wrong = judge_operation(plan, members, index); !wrong.empty()) return wrong;
  return {};
}

}  // namespace sumac::sim
