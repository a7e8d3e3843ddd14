#pragma once
// The heartbeat of one connection: it notices when the peer has been silent for too long. It is checked in beats, which
// a transport's connections share; sending and receiving only set a flag. Silence is counted in beats that this process
// saw: time in which the process was stopped, or its program computed without a call, does not count.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace sumac::net {

/// The longest time between two checks of a peer whose silence is limited; the interval of its pings is `every`.
inline constexpr Millis kBeatMax{200};

struct Heartbeat {
  Duration every{0}, silent_after{0};
  Duration silence{0};
  bool spoke = false, heard = false;  ///< Since the last beat: we sent a message; something was received.
  bool asked = false;                 ///< We sent a ping, and the peer has not answered it.

  bool on() const noexcept { return every.count() > 0 || silent_after.count() > 0; }
  void set(Duration tell_every, Duration judge_after) noexcept {
    *this = {};
    every = tell_every;
    silent_after = judge_after;
    heard = true;
  }
  /// The time between two checks.
  Duration period() const noexcept {
    const Duration judged = std::clamp<Duration>(silent_after / 5, Millis{5}, kBeatMax);
    if (every.count() == 0) return judged;
    return silent_after.count() == 0 ? every : std::min(every, judged);
  }
  /// `passed` is the time since the last beat. Returns true if the peer has been silent for too long, unless bytes of
  /// it lie unread.
  bool beat(Duration passed) noexcept {
    silence = std::exchange(heard, false) ? Duration{0} : silence + passed;
    return silent_after.count() > 0 && silence >= silent_after;
  }
  /// Returns true if it is time to send a ping.
  bool tells() noexcept {
    if (std::exchange(spoke, false) || every.count() == 0 || asked) return false;
    return asked = true;
  }
};

/// The beats of a transport: as frequent as its most demanding connection needs, and none if no connection is watched.
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
  /// Call it when a watched connection is gone.
  void forget(const Heartbeat& one) noexcept {
    if (one.on() && --watched_ == 0) *this = {};
  }
  Time next() const noexcept { return next_; }
  /// Returns the time that counts as passed. A late beat counts as one that came in time: a busy machine runs this process
  /// late, and then probably its peer, too.
  Duration take(Time now) noexcept {
    const Duration passed = std::min(now - last_, period_);
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
