#pragma once
// Ranks that share cores (docs/adr/0081). To yield a core costs 1.3 us (Linux 6.18, EPYC), as much as polling a flag a
// hundred times. So the cost is how often a core changes hands and how many ranks it has to serve, and both depend on
// where the ranks run:
//   - Of k ranks on a core, the last to arrive sees the others' numbers without a switch. If all ranks it still waits
//     for are on other cores, no rank here could use the core, so it polls on instead of yielding. A core then changes
//     hands k - 1 times in a barrier, which is the minimum: each rank has to run once.
//   - 5 ranks on one core and 3 on the other take as long as 10 on both. Ranks that meet every few microseconds never
//     leave a core idle, so the kernel does not rebalance them for a long time. A rank too many therefore moves itself:
//     it sets its affinity to the other core for the moment of the move and restores it right after.
#include <atomic>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "machine/cpu_share.hpp"
#include "shm/segment/layout.hpp"
#include "shm/waiting.hpp"

namespace sumac::shm {

class Crowd {
 public:
  Crowd(Control* controls, int size, int index, const WaitSettings& waiting) noexcept;

  /// Called at each wait: publishes the CPU of this rank if it has changed.
  void note_here() noexcept;
  /// Is that member on this core, as far as is known? It may have been moved since it last waited.
  bool is_here(int member) const noexcept;
  /// Called after a collective in which each waits for all: moves this rank if its core has too many.
  void spread_now_and_then() noexcept;

 private:
  std::int32_t cpu_of(int member) const noexcept {
    // Relaxed here and at the store: the number orders nothing else, and a stale one only costs a little time.
    return controls_[member].cpu_plus_one.load(std::memory_order_relaxed) - 1;
  }
  void spread(Time now) noexcept;

  Control* controls_;
  int size_, index_;
  std::int32_t cpu_ = -1;
  std::uint32_t waits_ = 0;  ///< Waits since the members' CPUs were last compared.
  int fair_share_;           ///< The number of ranks that belong on one core; 0 if this group must not move its ranks.
  Time looked_{};
};

/// Returns the CPU that member `index` should move to so that the members spread evenly over the CPUs it may use; -1 if
/// it stays. Members with a lower index move first, so members that see the same counts decide alike.
std::int32_t better_cpu(std::span<const std::int32_t> cpus, std::size_t index,
                        const machine::CpuMask& allowed) noexcept;

}  // namespace sumac::shm
