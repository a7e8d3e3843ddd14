#pragma once
// Recovery's thread waits so long before it looks again at the datagrams of calls that have returned. A frame that has gone so often in
// vain is hardly lost: its number waits for another member, which repeats its own. So the pause doubles while the program computes.
// Whoever has posted an operation mostly waits for it soon, and then looks by itself: the thread comes late, for those who compute first.
#include <algorithm>

#include "base/clock.hpp"

namespace sumac::client {

class RepeatPause {
 public:
  /// Nobody but other members waits for such a datagram, and calls look after it sooner.
  static constexpr Duration kFirst = Millis(1), kPosted = Millis(64), kMost = Seconds(1);
  /// A frame that goes now may wait so long.
  static constexpr Duration kShort = 8 * kFirst;

  /// A frame has gone. `is_over`: nobody waits for its operation. Returns whether the thread must be woken sooner than it would be.
  bool sent(bool is_over) noexcept {
    if (is_set_ && (pause_ <= kShort || !is_over)) return false;
    pause_ = is_over ? kFirst : kPosted;
    return is_set_ = true;
  }
  /// The pause is over. `is_open`: some number still is.
  void over(bool is_open) noexcept {
    is_set_ = is_open;
    pause_ = std::min(2 * pause_, kMost);
  }
  Duration length() const noexcept { return pause_; }

 private:
  Duration pause_ = kFirst;
  bool is_set_ = false;
};

}  // namespace sumac::client
