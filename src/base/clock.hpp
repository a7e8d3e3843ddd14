#pragma once
// Time as the pure machines see it: nanoseconds since an arbitrary origin. A machine never reads a clock; its caller
// passes `Time now`. The shell calls monotonic_now(), the simulator counts its own time.
#include <chrono>

namespace sumac {

using Duration = std::chrono::nanoseconds;
using Nanos = std::chrono::nanoseconds;
using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

/// A tag type, so that a Time mixes neither with wall-clock times nor with durations.
struct Timeline {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<Timeline>;
  static constexpr bool is_steady = true;
};

using Time = std::chrono::time_point<Timeline>;

/// The end of time, which means "no deadline". Compare with it; do not add to it.
inline constexpr Time kNever = Time::max();

/// Returns the instant `since_origin` after the origin, for tests and the simulator.
constexpr Time at(Duration since_origin) noexcept { return Time{since_origin}; }

/// Returns now + wait, or kNever where the sum would overflow.
constexpr Time deadline_after(Time now, Duration wait) noexcept { return wait >= kNever - now ? kNever : now + wait; }

inline Time monotonic_now() noexcept {
  return Time{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace sumac
