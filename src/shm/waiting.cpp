#include "shm/waiting.hpp"

#include <sched.h>
#include <time.h>

namespace sumac::shm {

namespace {

constexpr std::uint32_t kRoundsWithoutClock = 2;

void sleep_for(Duration d) noexcept {
  timespec time{0, static_cast<long>(d.count())};
  nanosleep(&time, nullptr);  // A signal may shorten the sleep, which does no harm.
}

}  // namespace

bool RankWait::pause() noexcept {
  if (policy_.yields_first()) sched_yield();
  if (++rounds_ <= kRoundsWithoutClock) return false;
  const WaitPlan plan = policy_.next(monotonic_now(), settings_.progress != nullptr);
  if (plan.drives) settings_.progress(settings_.context);
  if (plan.sleep > Duration{}) sleep_for(plan.sleep);
  if (plan.yields) sched_yield();
  return plan.checks;
}

}  // namespace sumac::shm
