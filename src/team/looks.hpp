#pragma once
// How often a leader looks for what comes from other hosts before it sleeps. A look is a system call or two; one that finds the
// message saves a wake-up, but where the answer takes a millisecond none does, and what it takes the processor from are the other
// ranks and nodes of this machine, whose messages are what is awaited. So looking must have paid lately. Pure.
#include <algorithm>
#include <cstdint>

namespace sumac::team {

class Looks {
 public:
  static constexpr int kMost = 20;                  ///< Some 20 us.
  static constexpr unsigned kMissesMax = 4;         ///< In a row: then the answer is too far away.
  static constexpr std::uint64_t kRetryEvery = 16;  ///< Waits between tries, after that.

  /// A wait begins: how often to look before it sleeps. Once it has slept, once: whatever woke it is there.
  int before_sleep() noexcept { return misses_ < kMissesMax || ++waits_ % kRetryEvery == 0 ? kMost : 0; }
  /// It is over.
  void over(bool has_slept) noexcept { misses_ = has_slept ? std::min(misses_ + 1, kMissesMax) : 0; }

 private:
  unsigned misses_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace sumac::team
