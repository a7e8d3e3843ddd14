#pragma once
// How long to look before sleeping. A message that comes while we look costs 10 us, one that must wake us 60 to 70; but looking
// takes a core, and where ranks outnumber cores it takes it from the very process that is awaited. So looking must earn its keep:
//   - spins that find nothing several times in a row are tried only now and then (the answer is farther away than the budget);
//   - a thread that the kernel switched out against its will halves its budget, down to nothing, and gets it back slowly;
//   - a share of wall time bounds what is spun in total.
// Pure: time and the count of involuntary switches are handed in.
#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace sumac::net {

struct WaiterConfig {
  Micros spin{20};         ///< Look for so long before yielding and sleeping. 0: never spin.
  unsigned yields = 3;     ///< Then give the core away so often, if we spun at all.
  Micros sleep_max{1000};  ///< Then sleep, but never longer: a waiting rank must drive its MPI.
  double cpu_share = 1.0;  ///< Of wall time that may be spent on spinning.
};

class SpinPolicy {
 public:
  enum class Next : std::uint8_t { look, yield, sleep };

  explicit SpinPolicy(const WaiterConfig& config) noexcept : config_(config), budget_(config.spin) {}

  /// Something came: the next wait starts afresh. `now` matters only while spinning().
  void found(Time now) noexcept {
    if (phase_ == Phase::spinning) charge(now);
    if (phase_ == Phase::spinning || phase_ == Phase::yielding) misses_ = 0;
    phase_ = Phase::fresh;
  }
  bool spinning() const noexcept { return phase_ == Phase::spinning; }

  /// Nothing came: what now? `switches()` is asked only now and then (it is a system call).
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
  static constexpr unsigned kMissesMax = 4;         ///< In a row: then the answer is too far away.
  static constexpr std::uint64_t kRetryEvery = 16;  ///< Waits between tries, after that.
  static constexpr std::uint64_t kRecoverEvery = 64;
  static constexpr Duration kLeast = Micros{1};  ///< Below this a spin is one look, not worth its clock.

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

  /// Of a thread that was switched out most of the time was not its own.
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
  long switches_ = -1;  ///< Not asked yet.
};

}  // namespace sumac::net
