#pragma once
// Signals as something readable beside the sockets: blocked in every thread, taken from one descriptor in the main loop.
#include <initializer_list>
#include <optional>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac::control {

class Signals {
 public:
  /// Call before any thread starts (gRPC starts some): a thread inherits the mask. Also ignores SIGPIPE.
  static Result<Signals> block(std::initializer_list<int> signals);

  int fd() const noexcept { return fd_.get(); }
  /// The next signal that came, or nothing; never waits.
  std::optional<int> take() noexcept;

 private:
  explicit Signals(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// Milliseconds for poll() until `deadline`, -1 for kNever: rounded up, or a deadline would be met by spinning through its last one.
int poll_timeout(Time now, Time deadline) noexcept;

/// Wakes a thread that sleeps in epoll: set() from any thread, clear() in the one that was woken.
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
