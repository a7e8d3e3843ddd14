#pragma once
// One seed of the datagram way: the real members and nodes of one group, the machine of src/hop in the nodes' kernels, and both ways
// in one sequence of numbers. Datagrams are lost, repeated and overtaken; members give up, links break. Odd seeds have one small group, and
// some of them a group of hop_group.hpp as well; even ones are the world of recovery, in which a group outlives its nodes.
#include "sim/world.hpp"

namespace sumac::sim {

Report run_hop_seed(std::uint64_t seed, int verbose = 0);

std::string describe_hop_seed(std::uint64_t seed);

inline constexpr std::size_t kHopConditions = 19;
void break_hop_rule(int condition);
const char* name_of_hop_rule(std::size_t condition);

}  // namespace sumac::sim
