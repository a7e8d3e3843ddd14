#pragma once
// Ranks that share cores (docs/adr/0037). Giving the core away costs 1.3 us (Linux 6.18, EPYC), a hundred looks at a flag. So what rules
// there is how often a core changes hands and how many ranks it has to serve, and both follow from where ranks are:
//   - Of k ranks on a core the last to arrive meets the others' numbers without a switch, and when all whom it still misses
//     are on other cores, nobody here could go on in its place: it looks on instead of giving the core away. So a core
//     changes hands k - 1 times in a barrier, which is the least: each rank has to be there once.
//   - 5 ranks on one core and 3 on the other take as long as 10 on both. Ranks that meet every few microseconds never let a
//     core idle and never cool down, so the kernel leaves them for a long time as it found them. Whoever is one too many
//     moves itself: its affinity says where for the moment of the move, and is what it was right after.
#include <atomic>
#include <cstdint>
#include <span>

#include "base/clock.hpp"
#include "machine/cpu_share.hpp"
#include "shm/layout.hpp"
#include "shm/waiting.hpp"

namespace sumac::shm {

class Crowd {
 public:
  Crowd(Control* controls, int size, int index, const Waiting& waiting) noexcept;

  /// Each time it waits: tells the others where this rank is, if that has changed.
  void note_here() noexcept;
  /// As far as is known: a rank may have been moved since it last waited.
  bool is_here(int member) const noexcept;
  /// In between, after a call in which everybody was waited for: moves this rank if its core has too many.
  void spread_now_and_then() noexcept;

 private:
  std::int32_t cpu_of(int member) const noexcept {
    // Relaxed here and at the store: a number that stands for itself, and an old one costs a little time and nothing else.
    return controls_[member].cpu_plus_one.load(std::memory_order_relaxed) - 1;
  }
  void spread(Time now) noexcept;

  Control* controls_;
  int size_, index_;
  std::int32_t cpu_ = -1;
  std::uint32_t waits_ = 0;  ///< Since the members' places were looked at.
  int fair_share_;           ///< As many ranks belong on a core; 0: where they are is not our business.
  Time looked_{};
};

/// The cpu that member `index` should move to so that members lie evenly over those it is allowed; -1: it stays. Whoever has a
/// lower index goes first: members who see the same decide alike.
std::int32_t better_cpu(std::span<const std::int32_t> cpus, std::size_t index,
                        const machine::CpuMask& allowed) noexcept;

}  // namespace sumac::shm
