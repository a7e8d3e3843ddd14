#pragma once
// How a thread waits for its transport:
//
//   for (;;) {
//     const std::size_t events = transport.progress(handler);
//     if (done) break;
//     waiter.wait(events, transport, deadline);
//   }
//
// A little spinning (SpinPolicy decides how much it is worth here), a few yields, then sleep on the wake-up descriptor.
#include "net/spin_policy.hpp"
#include "net/transport.hpp"

namespace sumac::net {

class Waiter {
 public:
  /// Never spins where this process may use one core only: the awaited could not run meanwhile.
  explicit Waiter(const WaiterConfig& config = {});

  /// `events`: what progress() just returned. Returns at once if it was not 0 or while it spins; else sleeps until the transport
  /// has something, `deadline`, the transport's next_due(), or sleep_max. Wakes early on a signal.
  void wait(std::size_t events, Transport& transport, Time deadline = kNever);
  /// The same for whoever alone drives the transport, and has dealt with the `events`: unless looking pays it sleeps at once.
  void rest(std::size_t events, Transport& transport, Time deadline = kNever);
  /// As wait() on any descriptor that is readable when there is work (several transports in one epoll set).
  void wait(std::size_t events, int fd, Time deadline);

  const SpinPolicy& policy() const noexcept { return policy_; }
  std::uint64_t sleeps() const noexcept { return sleeps_; }

 private:
  SpinPolicy::Next next(std::size_t events);
  SpinPolicy::Next look_or_yield(Time now);
  void sleep(int fd, Time deadline);

  WaiterConfig config_;
  SpinPolicy policy_;
  std::uint64_t sleeps_ = 0;
};

/// Cores this process may really use: its affinity, cut by the quota of its control group. At least 1.
unsigned usable_cores();

}  // namespace sumac::net
