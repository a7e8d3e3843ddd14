#pragma once
// One seed of recovery: one group of proto::recovery::Group over the real client and node engines on the seeded network,
// in which nodes, ranks and links break. Every result is compared with one that is computed separately.
#include "sim/recovery_plan.hpp"
#include "sim/world.hpp"

namespace sumac::sim {

Report run_recovery_seed(std::uint64_t seed, int verbose = 0);
/// The same in a group whose small operations go as datagrams.
Report run_datagram_recovery_seed(std::uint64_t seed, int verbose = 0);
/// The first below a manager and sharpds (job_world.hpp), whose processes are killed and started again.
Report run_job_seed(std::uint64_t seed, int verbose = 0);

}  // namespace sumac::sim
