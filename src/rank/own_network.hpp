#pragma once
// SUMAC_ACROSS=p2p: a team's own connections between hosts (src/p2p), in place of the MPI's collectives among the leaders.
#include <memory>
#include <vector>

#include "p2p/team_groups.hpp"
#include "rank/communicator.h"

namespace sumac::rank {

/// Connects the ranks of a team; collective over it. All ranks get the same answer.
/// @param team     `rank`, `size`, `gather`, `bcast`, `min`.
/// @param leaders  ranks of the team, ascending.
/// @return Null if a rank could not: it has said why.
std::unique_ptr<p2p::TeamGroups> connect_ranks(const sumac_communicator& team, const std::vector<int>& leaders,
                                               bool reproducible);

}  // namespace sumac::rank
