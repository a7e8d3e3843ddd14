#include "shm/waiting.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace sumac::shm {

namespace {

constexpr std::uint32_t kRoundsWithoutClock = 2;
// A rank that is alone on its core has nobody to yield to, as far as we know.
constexpr Duration kYieldAfter = Micros(100);
constexpr Duration kSleepAfter = Millis(10);
constexpr Duration kSleepMax = Millis(1);
constexpr int kSleepShare = 64;  // A sleep is at most this part of the time waited so far.
constexpr Duration kProgressEvery = Micros(20);
constexpr Duration kLookEvery = Millis(10);

void sleep_for(Duration d) noexcept {
  timespec time{0, static_cast<long>(d.count())};
  nanosleep(&time, nullptr);  // A signal may shorten the sleep, which does no harm.
}

}  // namespace

bool Patience::pause() noexcept {
  const bool crowded = waiting_.crowded();
  if (crowded) sched_yield();
  if (++rounds_ <= kRoundsWithoutClock) return false;
  const Plan now = plan(monotonic_now());
  if (now.drives_mpi) waiting_.progress(waiting_.context);
  if (now.sleep > Duration{}) sleep_for(now.sleep);
  if (now.yields) sched_yield();
  return now.looks;
}

Patience::Plan Patience::plan(Time now) noexcept {
  const bool crowded = waiting_.crowded();
  if (began_ == Time{}) began_ = progressed_ = looked_ = now;
  Plan plan;
  plan.drives_mpi = waiting_.progress != nullptr && now - progressed_ >= (crowded ? kProgressEvery : Duration{});
  if (plan.drives_mpi) progressed_ = now;
  const Duration waited = now - began_;
  if (waited >= kSleepAfter) {
    plan.sleep = std::min(kSleepMax, Duration(waited / kSleepShare));
  } else {
    plan.yields = !crowded && waited >= kYieldAfter;
  }
  plan.looks = now - looked_ >= kLookEvery;
  if (plan.looks) looked_ = now;
  return plan;
}

}  // namespace sumac::shm
