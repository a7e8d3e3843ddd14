#pragma once
// Time as the pure machines see it: nanoseconds since an origin that means nothing by itself. A machine never reads a
// clock; it is handed `Time now`. The shell calls monotonic_now(), the simulator counts its own.
#include <chrono>

namespace sumac {

using Duration = std::chrono::nanoseconds;
using Nanos = std::chrono::nanoseconds;
using Micros = std::chrono::microseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

/// A tag, so that a Time mixes neither with wall-clock times nor with durations.
struct Timeline {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<Timeline>;
  static constexpr bool is_steady = true;
};

using Time = std::chrono::time_point<Timeline>;

/// The far end of time: "no deadline". Compare with it; don't add to it.
inline constexpr Time kNever = Time::max();

/// `Time{} + d`, in words: the instant `since_origin` after the origin. For tests and the simulator.
constexpr Time at(Duration since_origin) noexcept { return Time{since_origin}; }

/// now + wait, but kNever instead of wrapping round when `wait` is "for ever".
constexpr Time deadline_after(Time now, Duration wait) noexcept { return wait >= kNever - now ? kNever : now + wait; }

inline Time monotonic_now() noexcept {
  return Time{std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace sumac
