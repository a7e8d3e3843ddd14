#pragma once
// Computes whether the job's trees pay for large messages (cost/bounds.hpp) in one communicator. The answer is the same
// at all its members, because it depends only on the job and the number of members.
#include "client/job.hpp"
#include "cost/bounds.hpp"

namespace sumac::client {

cost::WaysFabric ways_of(const Job& job, std::uint32_t members);

}  // namespace sumac::client
