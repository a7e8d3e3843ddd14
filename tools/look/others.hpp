#pragma once
// The ranks of a job on other hosts, and what its nodes wait for, as the daemons tell (control.proto, Inspection).
#include "base/clock.hpp"
#include "control/control.pb.h"
#include "tools/look/judge.hpp"

namespace sumac::tools::look {

/// Adds what daemons have answered. A rank that is known already stays as it is.
void merge(Job& job, const control::v1::InspectReply& reply, const Now& now);

/// Asks the sharpd of this host. Returns false if it knows nothing of the job, with a note on why.
bool add_others(Job& job, const Now& now, Time until);

}  // namespace sumac::tools::look
