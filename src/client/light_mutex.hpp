#pragma once
// A mutex that costs a few instructions while nobody else wants it: with recovery every call takes one because of a thread that
// nearly always sleeps.
#include <atomic>
#include <cstdint>

namespace sumac::client {

/// As in Ulrich Drepper, "Futexes Are Tricky" (2011), section 4.
class LightMutex {
 public:
  void lock() noexcept {
    std::uint32_t expected = kFree;
    // Acquire: the owner sees what former owners wrote. It pairs with the release in unlock().
    if (!state_.compare_exchange_strong(expected, kTaken, std::memory_order_acquire, std::memory_order_relaxed)) wait();
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kWanted) state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kTaken = 1, kWanted = 2;

  /// Whoever has waited takes it as wanted, since others may still wait.
  [[gnu::noinline]] void wait() noexcept {
    while (state_.exchange(kWanted, std::memory_order_acquire) != kFree)
      state_.wait(kWanted, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> state_ = kFree;
};

}  // namespace sumac::client
