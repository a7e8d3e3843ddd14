#pragma once
// Signals as a descriptor that can be polled beside the sockets: they are blocked in every thread and read from one
// descriptor in the main loop.
#include <initializer_list>
#include <optional>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::control {

class Signals {
 public:
  /// Call it before any thread starts (gRPC starts some), because a thread inherits the signal mask. It also ignores
  /// SIGPIPE.
  static Result<Signals> block(std::initializer_list<int> signals);

  int fd() const noexcept { return fd_.get(); }
  /// Returns the next pending signal, or nothing; never waits.
  std::optional<int> take() noexcept;

 private:
  explicit Signals(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// Returns the milliseconds for poll() until `deadline`, or -1 for kNever. It rounds up: otherwise the loop would spin
/// through the last millisecond.
int poll_timeout(Time now, Time deadline) noexcept;

/// Wakes a thread that sleeps in epoll. Any thread may call set(); the woken thread calls clear().
class WakeEvent {
 public:
  static Result<WakeEvent> make();
  int fd() const noexcept { return fd_.get(); }
  void set() const noexcept;
  void clear() const noexcept;

 private:
  explicit WakeEvent(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace sumac::control
