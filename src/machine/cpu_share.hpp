#pragma once
// How many processors there really are for a process: what its affinity mask lets it run on, and what the cgroups above
// it grant (a container with `--cpus 0.5` still sees every core). Ranks that outnumber them must not spin.
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace sumac::machine {

/// A set of kernel cpu numbers; flat, so that it can travel.
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

/// One process's share. Trivially copyable: ranks of a host exchange theirs and ask together().
struct CpuShare {
  CpuMask allowed;
  double quota_cpus = kNoQuota;   ///< The least quota of the cgroups from the process's own up to the root.
  std::uint64_t quota_group = 0;  ///< Tells the cgroup that has it: processes of one such group share one quota.
};

/// The cpus that this process may run on; empty if the kernel does not say.
CpuMask own_affinity();

/// This process's share. Never fails: what cannot be read restricts nothing (no cgroup file system, no permission).
CpuShare own_cpu_share();

/// Processors that these processes have together: the union of their masks, but no more than their quotas add up to.
/// At least 0.01; 0 processes have none.
double together(std::span<const CpuShare> shares);

/// Where a cgroup file system is and which group of it a process is in; tests give a tree of their own.
struct CgroupRoots {
  std::string proc_cgroup = "/proc/self/cgroup";
  std::string proc_mountinfo = "/proc/self/mountinfo";
};
struct Quota {
  double cpus = kNoQuota;
  std::uint64_t group = 0;
};
/// Versions 1 (cpu.cfs_quota_us, cpu.cfs_period_us) and 2 (cpu.max), walked from the process's group up to the mount.
Quota read_quota(const CgroupRoots& roots = {});

}  // namespace sumac::machine
