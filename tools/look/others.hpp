#pragma once
// The ranks of a job on other hosts, and what its nodes wait for, as the daemons tell (control.proto, Inspection).
#include "base/clock.hpp"
#include "base/result.hpp"
#include "control/control.pb.h"
#include "tools/look/judge.hpp"

namespace sumac::tools::look {

/// Adds what daemons have answered. A rank that is known already stays as it is.
void merge(Job& job, const control::v1::InspectReply& reply, const Now& now);

using Answer = Result<control::v1::InspectReply>;

/// Asks the sharpd of this host.
Answer ask_others(const Job& job, Time until);

/// Adds its answer to the job. Returns false if it knows nothing of it, with a note on why.
bool add_others(Job& job, const Answer& answer, const Now& now);

}  // namespace sumac::tools::look
