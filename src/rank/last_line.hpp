#pragma once
#include <memory>

#include "rank/peers.hpp"
#include "rank/settings.h"
#include "rank/tally.h"

namespace sumac::rank {

/// The last line of a job of Peers, if the settings ask for it: rank 0 adds up what all ranks counted. A rank that does not come is
/// not waited for long.
/// @param job_id  0: the tree had no job.
void say_last_line(const std::shared_ptr<Peers>& peers, const sumac_tally& own, std::uint64_t job_id,
                   const hcoll_settings& settings);

}  // namespace sumac::rank
