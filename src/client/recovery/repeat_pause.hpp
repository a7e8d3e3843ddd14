#pragma once
// Recovery's thread waits so long before it looks again at the datagrams of calls that have returned. A frame that has gone so often in
// vain is hardly lost: its number waits for another member, which repeats its own. So the pause doubles while the program computes.
#include <algorithm>

#include "base/clock.hpp"

namespace sumac::client {

class RepeatPause {
 public:
  /// Nobody but other members waits for such a datagram, and calls look after it sooner.
  static constexpr Duration kFirst = Millis(1), kMost = Seconds(1);
  /// A frame that goes now may wait so long.
  static constexpr Duration kShort = 8 * kFirst;

  /// A frame has gone. Returns whether the thread must be woken sooner than it would be.
  bool sent() noexcept {
    if (pause_ <= kShort && is_set_) return false;
    pause_ = kFirst;
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
