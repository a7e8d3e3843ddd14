#pragma once
// Whether the job's trees pay for large messages (topo/bounds.hpp), asked for one communicator: the same answer at all its members, as
// it depends on the job and the number of members alone.
#include "client/job.hpp"
#include "topo/bounds.hpp"

namespace sumac::client {

topo::WaysFabric ways_of(const Job& job, std::uint32_t members);

}  // namespace sumac::client
