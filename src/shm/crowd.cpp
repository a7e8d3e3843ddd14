#include "shm/crowd.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cmath>

namespace sumac::shm {

namespace {

/// To compare the CPUs of all members costs far less than this many switches.
constexpr std::uint32_t kWaitsPerLook = 8;
/// A move costs about 10 us, and the kernel may undo it.
constexpr Duration kLookEvery = Millis(5);

/// Moves this thread to `cpu`, then allows it again all CPUs that it was allowed before.
void move_to(std::int32_t cpu, const machine::CpuMask& allowed) noexcept {
  machine::CpuMask there, after = allowed;
  there.set(static_cast<std::size_t>(cpu));
  // A thread that may use every online CPU may also use CPUs that come online later.
  if (static_cast<long>(allowed.count()) >= ::sysconf(_SC_NPROCESSORS_ONLN)) after.words.fill(~std::uint64_t{0});
  const auto apply = [](const machine::CpuMask& mask) {
    return ::sched_setaffinity(0, sizeof mask.words, reinterpret_cast<const cpu_set_t*>(mask.words.data())) == 0;
  };
  // The second call can fail only if the CPUs of the cgroup changed in between, and then the kernel sets the mask
  // itself.
  if (apply(there)) apply(after);
}

}  // namespace

std::int32_t better_cpu(std::span<const std::int32_t> cpus, std::size_t index,
                        const machine::CpuMask& allowed) noexcept {
  std::array<std::uint16_t, machine::CpuMask::kCpusMax> counts{};
  const auto is_cpu = [](std::int32_t cpu) {
    return cpu >= 0 && static_cast<std::size_t>(cpu) < machine::CpuMask::kCpusMax;
  };
  for (const std::int32_t cpu : cpus)
    if (is_cpu(cpu)) ++counts[static_cast<std::size_t>(cpu)];
  const std::int32_t from = cpus[index];
  if (!is_cpu(from)) return -1;
  // Assumes that members with a lower index on the same CPU move first.
  for (std::size_t m = 0; m <= index; ++m) {
    if (cpus[m] != from) continue;
    std::int32_t least = -1;
    for (std::size_t word = 0; word < allowed.words.size(); ++word) {
      for (std::uint64_t bits = allowed.words[word]; bits != 0; bits &= bits - 1) {
        const auto cpu = static_cast<std::int32_t>(word * 64) + std::countr_zero(bits);
        if (least < 0 || counts[static_cast<std::size_t>(cpu)] < counts[static_cast<std::size_t>(least)]) least = cpu;
      }
    }
    if (least < 0 || counts[static_cast<std::size_t>(least)] + 2 > counts[static_cast<std::size_t>(from)]) return -1;
    if (m == index) return least;
    --counts[static_cast<std::size_t>(from)];
    ++counts[static_cast<std::size_t>(least)];
  }
  return -1;
}

// Only a group of all ranks of the host knows how many ranks each core has.
Crowd::Crowd(Control* controls, int size, int index, const WaitSettings& waiting) noexcept
    : controls_(controls),
      size_(size),
      index_(index),
      fair_share_(waiting.spreads && waiting.crowded() && waiting.ranks_on_host == size
                      ? static_cast<int>(std::ceil(size / waiting.cpus))
                      : 0) {}

void Crowd::note_here() noexcept {
  ++waits_;
  const std::int32_t cpu = ::sched_getcpu();  // sched_getcpu() only reads a word of this thread.
  if (cpu == cpu_) return;
  cpu_ = cpu;
  controls_[index_].cpu_plus_one.store(cpu + 1, std::memory_order_relaxed);
}

bool Crowd::is_here(int member) const noexcept {
  const std::int32_t cpu = cpu_of(member);
  return cpu < 0 || cpu == cpu_;
}

void Crowd::spread_now_and_then() noexcept {
  if (fair_share_ == 0 || waits_ < kWaitsPerLook) return;
  waits_ = 0;
  int here = 0;
  for (int m = 0; m < size_; ++m) here += cpu_of(m) == cpu_ ? 1 : 0;
  if (here <= fair_share_) return;
  if (const Time now = monotonic_now(); now - looked_ >= kLookEvery) spread(now);
}

void Crowd::spread(Time now) noexcept {
  looked_ = now;
  std::array<std::int32_t, kMembersMax> cpus;
  for (int m = 0; m < size_; ++m) cpus[static_cast<std::size_t>(m)] = cpu_of(m);
  const machine::CpuMask allowed = machine::own_affinity();
  const std::int32_t to =
      better_cpu({cpus.data(), static_cast<std::size_t>(size_)}, static_cast<std::size_t>(index_), allowed);
  if (to < 0) return;
  move_to(to, allowed);
  note_here();
}

}  // namespace sumac::shm
