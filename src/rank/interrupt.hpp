#pragma once
// Ctrl-C: a thread that waits in a call asks now and then whether it is to end. The modules know how Python says so.
#include <atomic>

namespace sumac::rank {

/// Called now and then by a thread that waits in a call: true ends the call with Errc::interrupted. Null: nobody is asked.
inline std::atomic<bool (*)()> interrupt_check{nullptr};

inline bool is_interrupted() {
  const auto check = interrupt_check.load(std::memory_order_relaxed);
  return check != nullptr && check();
}

}  // namespace sumac::rank
