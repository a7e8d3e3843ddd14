#pragma once
// Decides how often a leader polls for messages from other hosts before it sleeps. A poll is a system call or two. One
// that finds the message saves a wake-up; but where the answer takes a millisecond no poll finds it, and polling takes
// processor time from the other ranks and nodes of this machine, whose messages are awaited. So a leader polls only if
// that has paid lately. This is a pure state machine.
#include <algorithm>
#include <cstdint>

namespace sumac::team {

class Looks {
 public:
  static constexpr int kMost = 20;           ///< About 20 us.
  static constexpr unsigned kMissesMax = 4;  ///< After so many misses in a row the answer is taken to be too far away.
  static constexpr std::uint64_t kRetryEvery = 16;  ///< From then on it polls again once in so many waits.

  /// Called when a wait begins: returns how often to poll before the first sleep. After a sleep one poll is enough,
  /// because the message that woke it is there.
  int before_sleep() noexcept { return misses_ < kMissesMax || ++waits_ % kRetryEvery == 0 ? kMost : 0; }
  /// Called when the wait is over.
  void over(bool has_slept) noexcept { misses_ = has_slept ? std::min(misses_ + 1, kMissesMax) : 0; }

 private:
  unsigned misses_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace sumac::team
