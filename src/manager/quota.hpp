#pragma once
// How much of a tree a job gets. What is granted to one job is never granted to another: at each node of the tree the sum over
// its jobs stays within what the node's shard for that tree holds. Pure arithmetic; a refusal says what was short and which variable to change.
#include <cstdint>

#include "base/result.hpp"

namespace sumac::manager {

/// Bits of a job's features, with the numbers of the interface (enum sharp_job_features).
inline constexpr std::uint64_t kFeatureLlt = 1u << 0, kFeatureReproducible = 1u << 1, kFeatureSat = 1u << 2,
                               kFeatureSatExclusiveLock = 1u << 3;

struct QuotaRules {
  std::uint32_t default_percent = 10;
  std::uint32_t payload_default = 1024, payload_min = 128, payload_max = 1024;
  std::uint32_t stream_window = 16, chunk_bytes = 64u << 10;
  std::uint32_t group_channels_max = 0;  ///< Members of one group on one host; 0: no limit.
};

/// What every node of the job's part of the tree has: the least over nodes.
struct Capacity {
  std::uint32_t osts = 512, groups = 512, payload_max = 1024;
};

/// What running jobs hold together, at the node where least is left.
struct Usage {
  std::uint32_t osts = 0, groups = 0;
};

/// 0: the default.
struct Wish {
  std::uint32_t osts = 0, payload_per_ost = 0, max_groups = 0, max_qps = 0, max_group_channels = 0, num_trees = 0;
  std::uint64_t features = 0;
};

struct Allocation {
  std::uint32_t osts = 0, payload_per_ost = 0, max_groups = 0, max_qps = 0, max_group_channels = 0, num_trees = 0;
  std::uint32_t stream_window = 0, chunk_bytes = 0;  ///< 0: no streaming.
  std::uint64_t features = 0;                        ///< Of those asked for, what the tree does.

  bool operator==(const Allocation&) const = default;
};

/// Errc::invalid: the wish can never be met; Errc::exhausted: not now.
Result<Allocation> allocate(const QuotaRules& rules, const Capacity& capacity, const Usage& used, const Wish& wish);

}  // namespace sumac::manager
