#pragma once
// Decides how long to look for a message before sleeping. A message that arrives during a look costs 10 us, one that
// must wake us 60 to 70. But looking occupies a core, and if ranks outnumber cores, it takes the core from the very
// process that should send. So looking must pay:
//   - if several spins in a row find nothing, only few waits spin after that (the answer is farther away than the
//     budget);
//   - a thread that the kernel preempted halves its budget, down to nothing, and regains it slowly;
//   - the total time of spinning is limited to a share of wall time.
// The class is pure: its caller passes the time and the count of involuntary switches.
#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace sumac::net {

struct WaiterConfig {
  Micros spin{20};         ///< The time to look before yielding and sleeping. 0: never spin.
  unsigned yields = 3;     ///< After a spin, the number of yields.
  Micros sleep_max{1000};  ///< The longest sleep after that: a waiting rank must drive its MPI.
  double cpu_share = 1.0;  ///< The share of wall time that may be spent on spinning.
};

class SpinPolicy {
 public:
  enum class Next : std::uint8_t { look, yield, sleep };

  explicit SpinPolicy(const WaiterConfig& config) noexcept : config_(config), budget_(config.spin) {}

  /// Call it when something arrived: the next wait starts afresh. `now` matters only while spinning().
  void found(Time now) noexcept {
    if (phase_ == Phase::spinning) charge(now);
    if (phase_ == Phase::spinning || phase_ == Phase::yielding) misses_ = 0;
    phase_ = Phase::fresh;
  }
  bool spinning() const noexcept { return phase_ == Phase::spinning; }

  /// Call it when nothing arrived; returns the next step. It rarely calls `switches()`, which is a system call.
  template <class Switches>
  Next next(Time now, Switches&& switches) noexcept {
    switch (phase_) {
      case Phase::fresh:
        ++waits_;
        if (!worth_a_try(now, switches)) break;
        phase_ = Phase::spinning;
        began_ = now;
        return Next::look;
      case Phase::spinning:
        if (now - began_ < budget_) return Next::look;
        charge(now);
        if (misses_ < kMissesMax) ++misses_;
        weigh(switches());
        phase_ = Phase::yielding;
        yields_left_ = config_.yields;
        [[fallthrough]];
      case Phase::yielding:
        if (yields_left_ == 0) break;
        --yields_left_;
        return Next::yield;
      case Phase::sleeping: break;
    }
    phase_ = Phase::sleeping;
    return Next::sleep;
  }

  Duration budget() const noexcept { return budget_; }

 private:
  enum class Phase : std::uint8_t { fresh, spinning, yielding, sleeping };
  static constexpr unsigned kMissesMax = 4;         ///< After so many misses in a row, the answer is too far away.
  static constexpr std::uint64_t kRetryEvery = 16;  ///< The number of waits from one spin to the next after that.
  static constexpr std::uint64_t kRecoverEvery = 64;
  /// A shorter spin is a single look, which is not worth reading the clock.
  static constexpr Duration kLeast = Micros{1};

  template <class Switches>
  bool worth_a_try(Time now, Switches&& switches) noexcept {
    if (config_.spin.count() == 0) return false;
    if (last_ != Time{}) credit_ = std::min<Duration>(kCreditMax, credit_ + earned(now - last_));
    last_ = now;
    if (budget_ < Duration(config_.spin) && waits_ % kRecoverEvery == 0) {
      const long count = switches();
      if (count == switches_) budget_ = std::min<Duration>(config_.spin, std::max<Duration>(kLeast, 2 * budget_));
      switches_ = count;
    }
    if (budget_ < kLeast || credit_ <= Duration::zero()) return false;
    return misses_ < kMissesMax || waits_ % kRetryEvery == 0;
  }

  /// Limits the charge: most of a longer time the thread was switched out and did not spin.
  void charge(Time now) noexcept { credit_ -= std::min<Duration>(now - began_, 2 * budget_); }

  void weigh(long switches) noexcept {
    if (switches > switches_ && switches_ >= 0) budget_ = budget_ / 2 < kLeast ? Duration::zero() : budget_ / 2;
    switches_ = switches;
  }

  Duration earned(Duration wall) const noexcept {
    return std::chrono::duration_cast<Duration>(std::min<Duration>(wall, Seconds{1}) * config_.cpu_share);
  }

  static constexpr Duration kCreditMax = Millis{10};

  WaiterConfig config_;
  Duration budget_;
  Duration credit_ = kCreditMax;
  Phase phase_ = Phase::fresh;
  Time began_{}, last_{};
  std::uint64_t waits_ = 0;
  unsigned misses_ = 0, yields_left_ = 0;
  long switches_ = -1;  ///< The last count of involuntary switches; -1 until it is known.
};

}  // namespace sumac::net
