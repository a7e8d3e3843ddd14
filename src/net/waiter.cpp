#include "net/waiter.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <string>

namespace sumac::net {
namespace {

/// Returns the cores of the cgroup's quota ("max 100000" or "150000 100000"), rounded up, or 0 if there is no quota.
unsigned cgroup_cores() {
  std::string line, group;
  for (std::ifstream file("/proc/self/cgroup"); std::getline(file, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  std::ifstream file("/sys/fs/cgroup" + group + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return static_cast<unsigned>(std::ceil(std::strtod(quota.c_str(), nullptr) / period));
}

long involuntary_switches() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

WaitLimits fitted(WaitLimits limits) {
  if (limits.spin.count() > 0 && usable_cores() < 2) limits.spin = Micros{0};
  return limits;
}

}  // namespace

unsigned usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // The call fails if there are more than 1024 cores, which do not fit into the set; then there are enough anyway.
  const int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1024;
  const unsigned quota = cgroup_cores();
  const auto usable = static_cast<unsigned>(cores < 1 ? 1 : cores);
  return quota > 0 && quota < usable ? quota : usable;
}

Waiter::Waiter(const WaitLimits& limits) : policy_(fitted(limits)) {}

WaitPlan Waiter::next(std::size_t events) {
  if (events > 0) {
    policy_.found(policy_.spinning() ? monotonic_now() : Time{});
    return {};
  }
  return look_or_yield(monotonic_now());
}

WaitPlan Waiter::look_or_yield(Time now) {
  const WaitPlan plan = policy_.next(now, involuntary_switches);
  if (plan.yields) sched_yield();
  return plan;
}

void Waiter::sleep(Duration at_most, int fd, Time deadline) {
  const Time now = monotonic_now();
  deadline = std::min(deadline, deadline_after(now, at_most));
  if (deadline <= now) return;
  const Duration left = deadline - now;
  const auto seconds = std::chrono::duration_cast<Seconds>(left);
  const timespec timeout{seconds.count(), static_cast<long>((left - seconds).count())};
  pollfd wait{fd, POLLIN, 0};
  ++sleeps_;
  ppoll(&wait, 1, &timeout, nullptr);  // An error or a signal counts as an early return; the caller looks in any case.
}

void Waiter::wait(std::size_t events, Transport& transport, Time deadline) {
  const WaitPlan plan = next(events);
  if (plan.sleep == Duration{} || !transport.arm()) return;
  sleep(plan.sleep, transport.wake_fd(), std::min(deadline, transport.next_due()));
}

void Waiter::rest(std::size_t events, Transport& transport, Time deadline) {
  const Time now = monotonic_now();
  if (events > 0) policy_.found(now);
  const WaitPlan plan = look_or_yield(now);
  if (plan.sleep == Duration{} || !transport.arm()) return;
  deadline = std::min({deadline, transport.next_due(), deadline_after(now, plan.sleep)});
  if (deadline <= now) return;
  ++sleeps_;
  transport.wait(deadline - now);
}

void Waiter::wait(std::size_t events, int fd, Time deadline) {
  const WaitPlan plan = next(events);
  if (plan.sleep > Duration{}) sleep(plan.sleep, fd, deadline);
}

}  // namespace sumac::net
