#pragma once
// One seed of a group of many members under up to four nodes, for the datagram way: the real members (src/proto/hop_member.hpp) and the
// machine of src/hop on the seeded network, and numbers by the links between theirs. What a member waits for is written here; the
// seeds of hop_seed.hpp have the real groups, on smaller trees.
#include "sim/world.hpp"

namespace sumac::sim {

Report run_hop_group_seed(std::uint64_t seed, int verbose = 0);

/// Conditions of this world that can be broken alone.
enum class HopGroupRule : int {
  enough_slots,      ///< A node has two slots for each number that may be open. It matters from windows of 2 on.
  awaits_both_ways,  ///< Nobody sends a datagram before the numbers of the links in front of its window are complete.
  count
};
inline int broken_hop_group_rule = -1;  ///< One of HopGroupRule, or -1.

}  // namespace sumac::sim
