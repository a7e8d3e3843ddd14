#pragma once
// Decides how a thread waits: how often it looks for what it waits for, when it yields its core, how long it sleeps,
// and when it drives the caller's own communication. The classes here are pure: their users pass the time, and look,
// yield and sleep themselves. The limits of every wait of this program stand in namespace `waits` at the end.
//
// There are two kinds of wait:
//   - A message wakes the waiting thread (SpinPolicy): sockets. It looks for a short time if that has paid lately,
//     yields a few times and then sleeps until the message comes.
//   - Nothing wakes the waiting thread (BackoffPolicy): numbers in shared memory. It looks, then yields, then sleeps
//     longer and longer, always for a small part of the time that it has waited.
#include <algorithm>
#include <cstdint>
#include <span>

#include "base/clock.hpp"

namespace sumac {

/// The next actions of a waiting thread, in the order of the members. Then it asks the policy again.
struct WaitPlan {
  bool drives = false;      ///< Drive the caller's communication: the awaited process may be in a send that needs it.
  Duration sleep{};         ///< Sleep for at most this time.
  bool yields = false;      ///< Yield the core.
  std::uint32_t looks = 1;  ///< Look so many times.
  bool checks = false;      ///< Check after the looks whether the awaited processes are still alive.
};

struct SleepStep {
  Duration waited, sleep;  ///< After so much waiting a sleep is so long.
};

struct WaitLimits {
  std::uint32_t looks = 1;  ///< The looks between two questions to the policy, where a look costs less than the clock.
  Duration spin{};          ///< The time of looking only. 0: yield or sleep at once.
  /// True if the thread yields before each look and before it reads the clock: its core is wanted by the awaited
  /// process.
  bool yields_first = false;
  /// SpinPolicy: the number of yields between looking and sleeping. More would only delay a sleep that ends in time.
  unsigned yields = 0;
  /// BackoffPolicy: the time of looking and yielding. It is long, because nothing ends a sleep in time.
  Duration sleep_after{};
  Duration sleep_max{};
  /// BackoffPolicy: a sleep is this part of the time waited so far, or is taken from `sleep_steps` if there are any.
  int sleep_share = 64;
  std::span<const SleepStep> sleep_steps{};
  double cpu_share = 1.0;  ///< SpinPolicy: the share of wall time that may be spent on looking.
  Duration drive_every{};  ///< The caller's communication is driven so often. 0: after each look.
  Duration check_every{};  ///< Dead processes are looked for so often: each check is a system call.
};

/// True if the ranks of a host cannot all run at once: then a waiting rank keeps the core from the rank that it waits
/// for.
constexpr bool is_crowded(int ranks_on_host, double cpus) noexcept { return static_cast<double>(ranks_on_host) > cpus; }

/// An action that is due every so often while a thread waits.
class Rhythm {
 public:
  bool is_due(Time now, Duration every) const noexcept { return now - last_ >= every; }
  void done(Time now) noexcept { last_ = now; }
  Duration left(Time now, Duration every) const noexcept { return last_ + every - now; }

 private:
  Time last_{};  ///< The first time is due at once.
};

/// Remembers whether looking has paid lately, that is, whether it found the message before the thread had to sleep.
/// Where the answer takes longer than the looking, no look finds it, and looking takes processor time from the very
/// processes whose messages are awaited.
class PaidLately {
 public:
  static constexpr unsigned kMissesMax = 4;  ///< After so many misses in a row the answer is taken to be too far away.
  static constexpr std::uint64_t kRetryEvery = 16;  ///< From then on one wait in so many tries again.

  /// Called when a wait begins: true if this wait should look.
  bool looks() noexcept { return misses_ < kMissesMax || ++waits_ % kRetryEvery == 0; }
  void paid() noexcept { misses_ = 0; }
  void missed() noexcept { misses_ = std::min(misses_ + 1, kMissesMax); }

 private:
  unsigned misses_ = 0;
  std::uint64_t waits_ = 0;
};

/// Decides about waits that a message ends. A message that arrives during a look costs 10 us, one that must wake us 60
/// to 70. But looking occupies a core, and if ranks outnumber cores, it takes the core from the very process that
/// should send. So looking must pay:
///   - if several spins in a row find nothing, only few waits spin after that (PaidLately);
///   - a thread that the kernel preempted halves its budget, down to nothing, and regains it slowly;
///   - the total time of spinning is limited to a share of wall time.
class SpinPolicy {
 public:
  explicit SpinPolicy(const WaitLimits& limits) noexcept : limits_(limits), budget_(limits.spin) {}

  /// Call it when something arrived: the next wait starts afresh. `now` matters only while spinning().
  void found(Time now) noexcept {
    if (phase_ == Phase::spinning) charge(now);
    if (phase_ == Phase::spinning || phase_ == Phase::yielding) paid_.paid();
    phase_ = Phase::fresh;
  }
  bool spinning() const noexcept { return phase_ == Phase::spinning; }

  /// Call it when nothing arrived; returns the next step: one look without more, a yield before it, or a sleep before
  /// it. It rarely calls `switches()`, which returns the thread's count of involuntary switches and is a system call.
  template <class Switches>
  WaitPlan next(Time now, Switches&& switches) noexcept {
    switch (phase_) {
      case Phase::fresh:
        ++waits_;
        if (!worth_a_try(now, switches)) break;
        phase_ = Phase::spinning;
        began_ = now;
        return {};
      case Phase::spinning:
        if (now - began_ < budget_) return {};
        charge(now);
        paid_.missed();
        weigh(switches());
        phase_ = Phase::yielding;
        yields_left_ = limits_.yields;
        [[fallthrough]];
      case Phase::yielding:
        if (yields_left_ == 0) break;
        --yields_left_;
        return {.yields = true};
      case Phase::sleeping: break;
    }
    phase_ = Phase::sleeping;
    return {.sleep = limits_.sleep_max};
  }

  Duration budget() const noexcept { return budget_; }

 private:
  enum class Phase : std::uint8_t { fresh, spinning, yielding, sleeping };
  static constexpr std::uint64_t kRecoverEvery = 64;
  /// A shorter spin is a single look, which is not worth reading the clock.
  static constexpr Duration kLeast = Micros{1};
  static constexpr Duration kCreditMax = Millis{10};

  template <class Switches>
  bool worth_a_try(Time now, Switches&& switches) noexcept {
    if (limits_.spin.count() == 0) return false;
    if (last_ != Time{}) credit_ = std::min<Duration>(kCreditMax, credit_ + earned(now - last_));
    last_ = now;
    if (budget_ < limits_.spin && waits_ % kRecoverEvery == 0) {
      const long count = switches();
      if (count == switches_) budget_ = std::min<Duration>(limits_.spin, std::max<Duration>(kLeast, 2 * budget_));
      switches_ = count;
    }
    return budget_ >= kLeast && credit_ > Duration::zero() && paid_.looks();
  }

  /// Limits the charge: most of a longer time the thread was switched out and did not spin.
  void charge(Time now) noexcept { credit_ -= std::min<Duration>(now - began_, 2 * budget_); }

  void weigh(long switches) noexcept {
    if (switches > switches_ && switches_ >= 0) budget_ = budget_ / 2 < kLeast ? Duration::zero() : budget_ / 2;
    switches_ = switches;
  }

  Duration earned(Duration wall) const noexcept {
    return std::chrono::duration_cast<Duration>(std::min<Duration>(wall, Seconds{1}) * limits_.cpu_share);
  }

  WaitLimits limits_;
  Duration budget_;
  Duration credit_ = kCreditMax;
  Phase phase_ = Phase::fresh;
  Time began_{}, last_{};
  std::uint64_t waits_ = 0;
  PaidLately paid_;
  unsigned yields_left_ = 0;
  long switches_ = -1;  ///< The last count of involuntary switches; -1 until it is known.
};

/// Returns the actions of a thread that nothing wakes and that has waited so long in vain.
constexpr WaitPlan backoff(const WaitLimits& limits, Duration waited) noexcept {
  WaitPlan plan{.looks = limits.looks};
  if (waited < limits.sleep_after) {
    plan.yields = !limits.yields_first && waited >= limits.spin;
  } else if (limits.sleep_steps.empty()) {
    plan.sleep = std::min(limits.sleep_max, Duration(waited / limits.sleep_share));
  } else {
    for (const SleepStep& step : limits.sleep_steps)
      if (waited >= step.waited) plan.sleep = step.sleep;
  }
  return plan;
}

/// A thread that has waited for a tenth of a second waits for a person, a file or a long computation. Where nothing but the
/// awaited matters to it, it then sleeps so long: a 32nd of its wait, at most 20 ms, so that a group that waits costs next
/// to nothing.
constexpr Duration long_sleep(Duration waited) noexcept {
  return waited < Millis{100} ? Duration{} : std::min<Duration>(Millis{20}, waited / 32);
}

/// One wait that nothing ends but looking. `limits` must outlive it.
class BackoffPolicy {
 public:
  /// `sleeps_long`: see long_sleep().
  explicit BackoffPolicy(const WaitLimits& limits, bool sleeps_long = false) noexcept
      : limits_(limits), sleeps_long_(sleeps_long) {}

  bool yields_first() const noexcept { return limits_.yields_first; }
  /// Call it when something has moved without the wait being over: the wait starts afresh.
  void moved() noexcept { began_ = Time{}; }
  /// Call it after looks in vain. `can_drive`: there is a communication of the caller to drive.
  WaitPlan next(Time now, bool can_drive) noexcept {
    if (began_ == Time{}) {
      began_ = now;
      drives_.done(now);
      checks_.done(now);
    }
    WaitPlan plan = backoff(limits_, now - began_);
    if (sleeps_long_) plan.sleep = std::max(plan.sleep, long_sleep(now - began_));
    plan.drives = can_drive && drives_.is_due(now, limits_.drive_every);
    if (plan.drives) drives_.done(now);
    plan.checks = checks_.is_due(now, limits_.check_every);
    if (plan.checks) checks_.done(now);
    return plan;
  }

 private:
  const WaitLimits& limits_;
  bool sleeps_long_;
  Time began_{};
  Rhythm drives_, checks_;
};

/// Decides for a caller that looks in a loop of its own (sharp_coll_progress, a test of a request). The loop has no end
/// that the policy knows, so only looks in vain are counted.
class CallerPolicy {
 public:
  /// True if this call should look. With nothing under way the only news could be the end of the connection, so not
  /// every call has to pay a system call for it.
  bool looks(bool is_under_way) noexcept { return is_under_way || ++vain_ % kIdleLooks == 0; }
  /// Called after a look.
  WaitPlan after(bool has_found, bool is_under_way) noexcept {
    vain_ = has_found ? 0 : vain_ + 1;
    return {.yields = is_under_way && vain_ >= kPatientLooks && vain_ % kYieldEvery == 0};
  }

 private:
  /// A look takes about 0.4 us, a lone yield less.
  static constexpr std::uint32_t kIdleLooks = 32, kPatientLooks = 32, kYieldEvery = 8;
  std::uint32_t vain_ = 0;
};

namespace waits {

/// A thread waits for a message of its transport. A sleep is no longer than a millisecond, because a waiting rank must
/// drive its MPI.
inline constexpr WaitLimits kMessage{.spin = Micros{20}, .yields = 3, .sleep_max = Millis{1}};

/// A blocking call of the client library: it waits for a message like kMessage, and drives the caller's communication
/// every millisecond, after each sleep, and after so many looks.
inline constexpr Duration kCallDriveEvery = Millis{1};
inline constexpr int kCallLooksPerDrive = 128;
/// The longest sleep where only a message can end the wait; a lost wake-up would cost this once.
inline constexpr Duration kCallSleepMax = Millis{100};

/// A rank with a core of its own waits for ranks of its host. It has nobody to yield to, as far as we know, so it
/// looks on for a while.
inline constexpr WaitLimits kAlone{
    .looks = 400, .spin = Micros{100}, .sleep_after = Millis{10}, .sleep_max = Millis{1}, .check_every = Millis{10}};
/// A rank of a crowded host, or of a caller whose own waits yield, waits for ranks of its host: it yields at once,
/// because the rank that it waits for may need the core. It drives the MPI less often, because others need the core more.
inline constexpr WaitLimits kCrowded{.looks = 1,
                                     .yields_first = true,
                                     .sleep_after = Millis{10},
                                     .sleep_max = Millis{1},
                                     .drive_every = Micros{20},
                                     .check_every = Millis{10}};
constexpr const WaitLimits& in_host(bool yields_first) noexcept { return yields_first ? kCrowded : kAlone; }
/// The looks of a rank of a crowded host between two yields, if the ranks that it waits for are on other cores (about
/// 5 us): its core would be of no use to them.
inline constexpr std::uint32_t kLooksElsewhere = 128;

/// The same ranks wait for a schedule of several levels, where a look steps the whole schedule.
inline constexpr std::uint32_t schedule_looks(bool yields_first) noexcept { return yields_first ? 1 : 200; }

/// A leader waits for the other hosts. Looking (about 20 us) is limited by number, since a look is a system call or two.
/// It sleeps in pieces, because it must drive the MPI in between.
inline constexpr WaitLimits kLeader{.looks = 20, .sleep_max = Millis{1}, .drive_every = Millis{1}};
/// It sleeps so long where there is no MPI to drive.
inline constexpr Duration kLeaderSleepsAlone = Millis{10};
inline constexpr int kLeaderSleepsPerCheck = 10;

/// The thread that moves posted operations beside the program's own thread. It competes with the program's computation
/// for a core, so it yields and sleeps much sooner than a rank that waits, and the first sleeps are long for the time
/// waited. The looks are those at one team in a row: the chunks of a large message follow each other faster than a
/// look at the clock, the other teams and new posts.
inline constexpr SleepStep kThreadSleeps[] = {
    {Micros{200}, Micros{50}}, {Millis{2}, Micros{200}}, {Millis{20}, Micros{500}}};
inline constexpr WaitLimits kThread{.looks = 32,
                                    .spin = Micros{20},
                                    .sleep_after = Micros{200},
                                    .sleep_max = Micros{500},
                                    .sleep_steps = kThreadSleeps};

}  // namespace waits
}  // namespace sumac
