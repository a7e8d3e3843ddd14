#pragma once
// The collectives of a team of one: what it gives is what it gets.
#include "team/team.h"

namespace sumac::python {

void run_alone(const sumac_call_t& call);

}  // namespace sumac::python
