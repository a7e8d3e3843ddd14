#pragma once
// The time limits of a team: how often a rank that waits looks at them, and the words for them.
#include <fmt/format.h>

#include <string>

#include "base/clock.hpp"

namespace sumac::python {

/// A rank that waits looks so often at limits, and at whether the others are alive.
constexpr Duration kLookEvery = Millis{1};

inline std::string milliseconds(Duration time) {
  return fmt::format("{} ms", std::chrono::duration_cast<Millis>(time).count());
}

}  // namespace sumac::python
