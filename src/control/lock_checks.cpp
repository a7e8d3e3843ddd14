#include "control/lock_checks.hpp"

#include <absl/synchronization/mutex.h>

namespace sumac::control {

void leave_lock_checks_out() noexcept { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace sumac::control
