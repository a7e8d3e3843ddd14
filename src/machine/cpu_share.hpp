#pragma once
// The number of processors that a process can really use: its affinity mask limits it, and so do the quotas of the
// cgroups above it (a container with `--cpus 0.5` still sees every core). Ranks that outnumber these processors must
// not spin.
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace sumac::machine {

/// A set of kernel cpu numbers. It is flat, so that it can be sent to other processes.
struct CpuMask {
  static constexpr std::size_t kCpusMax = 4096;
  std::array<std::uint64_t, kCpusMax / 64> words{};

  void set(std::size_t cpu) { words[cpu / 64] |= std::uint64_t{1} << (cpu % 64); }
  bool has(std::size_t cpu) const { return cpu < kCpusMax && (words[cpu / 64] >> (cpu % 64) & 1) != 0; }
  std::uint32_t count() const;
  bool empty() const { return count() == 0; }
  std::vector<std::int32_t> numbers() const;
  CpuMask& operator|=(const CpuMask& other);
  bool operator==(const CpuMask&) const = default;
};

inline constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// The share of one process. It is trivially copyable: the ranks of a host exchange their shares and pass them to
/// together().
struct CpuShare {
  CpuMask allowed;
  double quota_cpus = kNoQuota;  ///< The least quota of the cgroups from the process's own one up to the root.
  /// Identifies the cgroup of that quota: processes with the same group share one quota.
  std::uint64_t quota_group = 0;
};

/// Returns the cpus that this process may run on, or an empty mask if the kernel does not report them.
CpuMask own_affinity();

/// Returns the share of this process. It never fails: a file that cannot be read counts as no restriction (no cgroup
/// file system, no permission).
CpuShare own_cpu_share();

/// Returns the processors that these processes have together: the union of their masks, but at most the sum of their
/// quotas. The result is at least 0.01, or 0 for an empty list.
double together(std::span<const CpuShare> shares);

/// The files that name the cgroup file systems and the groups of a process; tests pass a tree of their own.
struct CgroupRoots {
  std::string proc_cgroup = "/proc/self/cgroup";
  std::string proc_mountinfo = "/proc/self/mountinfo";
};
struct Quota {
  double cpus = kNoQuota;
  std::uint64_t group = 0;
};
/// Reads versions 1 (cpu.cfs_quota_us, cpu.cfs_period_us) and 2 (cpu.max), from the process's group up to the mount
/// point.
Quota read_quota(const CgroupRoots& roots = {});

/// The memory that a process may use: of the cgroups above it the one that has least left.
struct MemoryLimit {
  std::uint64_t bytes = 0, used_bytes = 0;
};
/// Nothing: no cgroup above the process limits its memory.
std::optional<MemoryLimit> read_memory_limit(const CgroupRoots& roots = {});

}  // namespace sumac::machine
