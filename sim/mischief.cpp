#include "sim/mischief.hpp"

#include <algorithm>

#include "wire/agg_codec.hpp"

namespace sumac::sim {

std::vector<std::byte> far_number(const wire::AggHeader& sent, const proto::ClientGroup& group, std::uint32_t rank) {
  wire::AggHeader far;
  far.kind = wire::AggKind::contribute;
  far.tree_id = sent.tree_id;
  far.group_id = group.config().group_id;
  far.sequence = seq_next(sent.sequence, 3 * std::max(group.shape().osts, group.shape().stream_window));
  far.coll = wire::Coll::barrier;
  far.flags = wire::kFlagFirst | wire::kFlagLast;
  far.origin = rank;
  far.members = 1;
  const auto bytes = wire::encoded(far);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> mischief(Scenario scenario, wire::AggHeader sent, const std::vector<proto::GroupView>& groups,
                                bool coin) {
  std::vector<std::byte> bytes(wire::kAggHeaderBytes + sent.payload_bytes, std::byte{0x11});
  if (scenario == Scenario::stranger) {
    // The message imitates one of the group's first child at this node.
    for (const auto& group : groups)
      if (group.group_id == sent.group_id && !group.children.empty()) {
        sent.origin = group.children[0].lowest_rank;
        sent.members = group.children[0].members;
      }
  }
  if (scenario == Scenario::false_parent) {
    sent.kind = wire::AggKind::result;
    sent.origin = wire::kNoRank;
    sent.members = 0;
  }
  if (scenario == Scenario::garbage) {
    sent.first = sent.count + 1;
    if (coin) sent.magic ^= 1;
  }
  wire::store(bytes.data(), sent);
  return bytes;
}

}  // namespace sumac::sim
