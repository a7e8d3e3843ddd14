#include "machine/round_trip.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace sumac::machine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kBatches = 5;
constexpr auto kPatience = std::chrono::seconds(2);

/// One cache line for each direction, which one side writes and the other only reads.
struct Lines {
  alignas(128) std::atomic<std::uint64_t> ping{0};
  alignas(128) std::atomic<std::uint64_t> pong{0};
  alignas(128) std::atomic<bool> is_over{false};  ///< True once one side gave up, so that the other one stops waiting.
  Clock::time_point deadline = Clock::now() + kPatience;
};

bool pin(std::int32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) == 0;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns false if the other side gave up, or if the whole takes longer than kPatience.
bool wait_for(const std::atomic<std::uint64_t>& word, std::uint64_t value, const Lines& lines) {
  for (std::uint32_t spins = 1;; ++spins) {
    // Acquire pairs with the release of the store for which this loop waits.
    if (word.load(std::memory_order_acquire) == value) return true;
    relax();
    if (spins % 4096 != 0) continue;
    if (lines.is_over.load(std::memory_order_acquire) || Clock::now() > lines.deadline) return false;
  }
}

}  // namespace

Result<double> cache_line_round_trip_ns(std::int32_t cpu_a, std::int32_t cpu_b, std::uint32_t rounds) {
  if (cpu_a < 0 || cpu_b < 0 || cpu_a >= CPU_SETSIZE || cpu_b >= CPU_SETSIZE || cpu_a == cpu_b || rounds == 0)
    return fail(Errc::invalid, "round trip between cpu {} and cpu {}: two different cpus of this machine are needed",
                cpu_a, cpu_b);
  Lines lines;
  std::atomic<int> not_pinned{-1};
  const std::uint64_t all = std::uint64_t{rounds} * kBatches;
  std::thread echo([&] {
    if (!pin(cpu_b)) not_pinned = cpu_b, lines.is_over.store(true, std::memory_order_release);
    for (std::uint64_t i = 1; i <= all; ++i) {
      if (!wait_for(lines.ping, i, lines)) break;
      lines.pong.store(i, std::memory_order_release);
    }
  });
  double least_ns = 0;
  bool is_whole = false;
  std::thread caller([&] {
    if (!pin(cpu_a)) not_pinned = cpu_a, lines.is_over.store(true, std::memory_order_release);
    std::uint64_t i = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = Clock::now();
      for (std::uint32_t round = 0; round < rounds; ++round) {
        lines.ping.store(++i, std::memory_order_release);
        if (!wait_for(lines.pong, i, lines)) {
          lines.is_over.store(true, std::memory_order_release);
          return;
        }
      }
      const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count() / rounds;
      least_ns = batch == 0 ? ns : std::min(least_ns, ns);
    }
    is_whole = true;
  });
  caller.join();
  echo.join();
  if (not_pinned >= 0) return fail(Errc::denied, "cpu {}: this process may not run there", not_pinned.load());
  if (!is_whole) return fail(Errc::timeout, "round trip between cpu {} and cpu {}: not done within 2 s", cpu_a, cpu_b);
  return least_ns;
}

}  // namespace sumac::machine
