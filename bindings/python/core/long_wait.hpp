#pragma once
// A rank that has waited for a tenth of a second waits for a person, a file or a long computation: it sleeps longer than one that
// waits for a message, so that a group that waits costs next to nothing.
#include <algorithm>
#include <thread>

#include "base/clock.hpp"

namespace sumac::python {

/// The sleep after so much waiting, on top of the usual pauses: a 32nd of it, at most 20 ms; nothing in the first 100 ms.
constexpr Duration long_wait(Duration waited) noexcept {
  return waited < Millis{100} ? Duration{} : std::min<Duration>(Millis{20}, waited / 32);
}

inline void rest_long(Duration waited) {
  if (const Duration sleep = long_wait(waited); sleep > Duration{}) std::this_thread::sleep_for(sleep);
}

}  // namespace sumac::python
