#include "shm/waiting.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace sumac::shm {

namespace {

constexpr std::uint32_t kRoundsWithoutClock = 2;
constexpr Duration kYieldAfter = Micros(100);  // alone on a core there is nobody to yield to, as far as we know
constexpr Duration kSleepAfter = Millis(10);
constexpr Duration kSleepMax = Millis(1);
constexpr int kSleepShare = 64;  // a sleep is at most this part of what was waited already
constexpr Duration kProgressEvery = Micros(20);
constexpr Duration kLookEvery = Millis(10);

void sleep_for(Duration d) noexcept {
  timespec time{0, static_cast<long>(d.count())};
  nanosleep(&time, nullptr);  // cut short by a signal: so much the better
}

}  // namespace

bool Patience::pause() noexcept {
  const bool crowded = waiting_.crowded();
  if (crowded) sched_yield();
  if (++rounds_ <= kRoundsWithoutClock) return false;
  const Time now = monotonic_now();
  if (began_ == Time{}) began_ = progressed_ = looked_ = now;
  if (waiting_.progress != nullptr && now - progressed_ >= (crowded ? kProgressEvery : Duration{})) {
    progressed_ = now;
    waiting_.progress(waiting_.context);
  }
  const Duration waited = now - began_;
  if (waited >= kSleepAfter) {
    sleep_for(std::min(kSleepMax, Duration(waited / kSleepShare)));
  } else if (!crowded && waited >= kYieldAfter) {
    sched_yield();
  }
  if (now - looked_ < kLookEvery) return false;
  looked_ = now;
  return true;
}

}  // namespace sumac::shm
