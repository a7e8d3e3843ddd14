#pragma once
// Lets a thread wait for its transport:
//
//   for (;;) {
//     const std::size_t events = transport.progress(handler);
//     if (done) break;
//     waiter.wait(events, transport, deadline);
//   }
//
// A wait spins a little (SpinPolicy decides how long), yields a few times, then sleeps on the wake-up descriptor.
#include "base/wait_policy.hpp"
#include "net/transport.hpp"

namespace sumac::net {

class Waiter {
 public:
  /// Never spins if this process may use only one core: the process that should send could not run meanwhile.
  explicit Waiter(const WaitLimits& limits = waits::kMessage);

  /// `events` is the result of the last progress(). It returns at once if that was not 0 or while it spins. Otherwise
  /// it sleeps until the transport has something, `deadline`, the transport's next_due(), or sleep_max. A signal wakes
  /// it early.
  void wait(std::size_t events, Transport& transport, Time deadline = kNever);
  /// The same for a thread that alone drives the transport and has handled the `events`: it sleeps at once unless
  /// looking pays.
  void rest(std::size_t events, Transport& transport, Time deadline = kNever);
  /// The same as wait() with any descriptor that is readable when there is work (several transports in one epoll set).
  void wait(std::size_t events, int fd, Time deadline);

  const SpinPolicy& policy() const noexcept { return policy_; }
  std::uint64_t sleeps() const noexcept { return sleeps_; }

 private:
  WaitPlan next(std::size_t events);
  WaitPlan look_or_yield(Time now);
  void sleep(Duration at_most, int fd, Time deadline);

  SpinPolicy policy_;
  std::uint64_t sleeps_ = 0;
};

/// Returns the cores that this process may really use: its affinity, limited by the quota of its control group. At
/// least 1.
unsigned usable_cores();

}  // namespace sumac::net
