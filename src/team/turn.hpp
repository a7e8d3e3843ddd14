#pragma once
// Whose turn it is to move a team: a lock that is never waited for in the hot path, and a guard against the same thread
// coming in again from further down its own stack (MPI's progress, called by a wait, calls ours). Where a process has
// no second thread it is a plain flag: the compiler keeps the loads and stores, the processor gets no locked
// instruction.
#include <sched.h>

#include <atomic>

namespace sumac::team {

class Turn {
 public:
  explicit Turn(bool threads) noexcept : threads_(threads) {}

  bool try_take() noexcept {
    if (!threads_) {
      // Relaxed: one thread only, nothing to order.
      if (taken_.load(std::memory_order_relaxed)) return false;
      taken_.store(true, std::memory_order_relaxed);
      return true;
    }
    // Acquire pairs with give(): what the former holder did to the team is seen. Test: team_threads_test under TSan.
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void give() noexcept { taken_.store(false, threads_ ? std::memory_order_release : std::memory_order_relaxed); }

 private:
  std::atomic<bool> taken_{false};
  const bool threads_;
};

/// For a few instructions (a list): waits by looking again.
class ShortLock {
 public:
  explicit ShortLock(Turn& turn) noexcept : turn_(turn) {
    while (!turn_.try_take()) sched_yield();  // its holder may have lost its core
  }
  ~ShortLock() { turn_.give(); }
  ShortLock(const ShortLock&) = delete;
  ShortLock& operator=(const ShortLock&) = delete;

 private:
  Turn& turn_;
};

}  // namespace sumac::team
