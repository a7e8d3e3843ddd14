#include "machine/cpu_share.hpp"

#include <sched.h>

#include <algorithm>
#include <map>

namespace sumac::machine {

std::uint32_t CpuMask::count() const {
  std::uint32_t bits = 0;
  for (const auto word : words) bits += static_cast<std::uint32_t>(std::popcount(word));
  return bits;
}

std::vector<std::int32_t> CpuMask::numbers() const {
  std::vector<std::int32_t> found;
  for (std::size_t cpu = 0; cpu < kCpusMax; ++cpu)
    if (has(cpu)) found.push_back(static_cast<std::int32_t>(cpu));
  return found;
}

CpuMask& CpuMask::operator|=(const CpuMask& other) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other.words[i];
  return *this;
}

CpuMask own_affinity() {
  CpuMask mask;
  // cpu_set_t is an array of unsigned long with the least significant bit first; on 64-bit systems that is the same
  // layout.
  static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));
  if (::sched_getaffinity(0, sizeof mask.words, reinterpret_cast<cpu_set_t*>(mask.words.data())) != 0) mask = {};
  return mask;
}

CpuShare own_cpu_share() {
  const Quota quota = read_quota();
  return {own_affinity(), quota.cpus, quota.group};
}

double together(std::span<const CpuShare> shares) {
  if (shares.empty()) return 0;
  CpuMask all;
  std::map<std::uint64_t, double> quotas;  // One entry for each cgroup that restricts a process.
  bool is_limited = true;                  // A process without a quota may use all cpus.
  for (const auto& share : shares) {
    all |= share.allowed;
    if (share.quota_cpus == kNoQuota) {
      is_limited = false;
      continue;
    }
    const auto [at, is_new] = quotas.emplace(share.quota_group, share.quota_cpus);
    if (!is_new) at->second = std::min(at->second, share.quota_cpus);
  }
  double cpus = std::max(1U, all.count());
  if (is_limited) {
    double granted = 0;
    for (const auto& [group, quota] : quotas) granted += quota;
    cpus = std::min(cpus, granted);
  }
  return std::max(cpus, 0.01);
}

}  // namespace sumac::machine
