#pragma once
// Signs of life on one connection, and when its peer has given none for too long. Looked at in beats, which a transport's connections
// share: sending and receiving only set a flag. Silence is counted in beats that this process saw: while it was stopped, or its program
// computed without a call, no time went by.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace sumac::net {

/// Longest time between two looks at who is judged; how often he must be told is `every`.
inline constexpr Millis kBeatMax{200};

struct Heartbeat {
  Duration every{0}, silent_after{0};
  Duration silence{0};
  bool spoke = false, heard = false;  ///< Since the last beat: we sent a message, something came.
  bool asked = false;                 ///< We told that we live, and the peer has not answered.

  bool on() const noexcept { return every.count() > 0 || silent_after.count() > 0; }
  void set(Duration tell_every, Duration judge_after) noexcept {
    *this = {};
    every = tell_every;
    silent_after = judge_after;
    heard = true;
  }
  /// The time between two looks.
  Duration period() const noexcept {
    const Duration judged = std::clamp<Duration>(silent_after / 5, Millis{5}, kBeatMax);
    if (every.count() == 0) return judged;
    return silent_after.count() == 0 ? every : std::min(every, judged);
  }
  /// `passed` since the last beat. True: the peer has been silent for too long, unless something of it lies unread.
  bool beat(Duration passed) noexcept {
    silence = std::exchange(heard, false) ? Duration{0} : silence + passed;
    return silent_after.count() > 0 && silence >= silent_after;
  }
  /// True: it is time to tell the peer that we live.
  bool tells() noexcept {
    if (std::exchange(spoke, false) || every.count() == 0 || asked) return false;
    return asked = true;
  }
};

/// The beats of a transport: as frequent as the hastiest of its connections needs, none where none is watched.
class Beats {
 public:
  void set(Heartbeat& one, Duration tell_every, Duration judge_after, Time now) noexcept {
    forget(one);
    one.set(tell_every, judge_after);
    if (!one.on()) return;
    ++watched_;
    period_ = std::min(period_, one.period());
    if (next_ == kNever) last_ = now;
    next_ = std::min(next_, now + period_);
  }
  /// A connection that was watched is gone.
  void forget(const Heartbeat& one) noexcept {
    if (one.on() && --watched_ == 0) *this = {};
  }
  Time next() const noexcept { return next_; }
  /// The time that counts as passed: what a sleep of ours adds is nobody's silence.
  Duration take(Time now) noexcept {
    const Duration passed = std::min(now - last_, 2 * period_);
    last_ = now;
    next_ = now + period_;
    return passed;
  }

 private:
  std::size_t watched_ = 0;
  Duration period_ = Seconds(3600);
  Time last_{}, next_ = kNever;
};

}  // namespace sumac::net
