#pragma once
// The right to advance a team: a lock that the hot path never waits for, and a guard against the same thread entering
// again from further down its own stack (a wait calls MPI's progress, which calls ours). If a process has no second
// thread it is a plain flag: the compiler keeps the loads and stores, and the processor executes no locked instruction.
#include <sched.h>

#include <atomic>

namespace sumac::team {

class Turn {
 public:
  explicit Turn(bool threads) noexcept : threads_(threads) {}

  bool try_take() noexcept {
    if (!threads_) {
      // Relaxed, since there is only one thread and nothing to order.
      if (taken_.load(std::memory_order_relaxed)) return false;
      taken_.store(true, std::memory_order_relaxed);
      return true;
    }
    // This acquire pairs with give(): the new holder sees the former holder's changes to the team. Test:
    // team_threads_test under TSan.
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  /// One order, because the compiler takes a locked exchange for an order that is chosen at run time.
  void give() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
  const bool threads_;
};

/// A lock for a few instructions (a list): it waits by polling.
class ShortLock {
 public:
  explicit ShortLock(Turn& turn) noexcept : turn_(turn) {
    while (!turn_.try_take()) sched_yield();  // The holder may have lost its core.
  }
  ~ShortLock() { turn_.give(); }
  ShortLock(const ShortLock&) = delete;
  ShortLock& operator=(const ShortLock&) = delete;

 private:
  Turn& turn_;
};

}  // namespace sumac::team
