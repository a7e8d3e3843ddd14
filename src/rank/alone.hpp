#pragma once
#include "team/team.h"

namespace sumac::rank {

/// Moves the data of a collective of one rank.
void run_alone(const sumac_call_t& call);

}  // namespace sumac::rank
