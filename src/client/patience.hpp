#pragma once
// The waits of start-up: a job that begins, a group that is made. Each has a limit of this library's own, and ends earlier
// if the binding says so, which knows more: a limit for all that the ranks agree on, or Ctrl-C.
#include <algorithm>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace sumac::client {

/// Asked now and then by a wait of start-up; false ends it.
struct PatienceBound {
  int (*may_wait)(void* context) = nullptr;  ///< None: only the wait's own limit counts.
  void* context = nullptr;
};
/// Holds for the waits of the calling thread from now on.
void bound_patience(PatienceBound bound);

/// One such wait, or several that share a limit.
class Patience {
 public:
  explicit Patience(Duration at_most) : began_(monotonic_now()), deadline_(deadline_after(began_, at_most)) {}

  /// Asks the binding too. It may call anything, so no lock is held.
  bool is_over() const;
  /// The end of a wait that asks often enough afterwards.
  Time next_look() const { return std::min(deadline_, monotonic_now() + kLookEvery); }
  /// Returns the time since the beginning, for messages.
  Millis waited() const { return std::chrono::round<Millis>(monotonic_now() - began_); }

 private:
  static constexpr Duration kLookEvery = Millis{100};
  Time began_, deadline_;
};

/// Calls `step(at_most)` until it ends otherwise than by Errc::timeout.
template <class Step>
auto patiently(const Patience& patience, Step step) {
  for (;;) {
    auto done = step(std::max<Duration>(Duration{0}, patience.next_look() - monotonic_now()));
    if (done || done.error().code != Errc::timeout || patience.is_over()) return done;
  }
}

}  // namespace sumac::client
