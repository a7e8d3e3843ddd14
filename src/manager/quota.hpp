#pragma once
// Decides how much of a tree a job gets. No resource is granted twice: at each node of the tree the sum over its jobs
// stays within the capacity of the node's shard. It is pure arithmetic; a refusal names the resource and the variable
// to change.
#include <cstdint>

#include "base/result.hpp"

namespace sumac::manager {

/// The bits of a job's features, numbered as in the interface (enum sharp_job_features).
inline constexpr std::uint64_t kFeatureLlt = 1u << 0, kFeatureReproducible = 1u << 1, kFeatureSat = 1u << 2,
                               kFeatureSatExclusiveLock = 1u << 3;

struct QuotaRules {
  std::uint32_t default_percent = 10;
  std::uint32_t payload_default = 1024, payload_min = 128, payload_max = 1024;
  std::uint32_t stream_window = 16, chunk_bytes = 64u << 10;
  std::uint32_t group_channels_max = 0;  ///< The most members of one group on one host; 0 means no limit.
};

/// The least capacity among the nodes of the job's part of the tree.
struct Capacity {
  std::uint32_t osts = 512, groups = 512, payload_max = 1024;
};

/// The resources that running jobs hold together, at the node where least is left.
struct Usage {
  std::uint32_t osts = 0, groups = 0;
};

/// The quota that a job asks for. A field of 0 asks for the default.
struct Wish {
  std::uint32_t osts = 0, payload_per_ost = 0, max_groups = 0, max_qps = 0, max_group_channels = 0, num_trees = 0;
  std::uint64_t features = 0;
};

struct Allocation {
  std::uint32_t osts = 0, payload_per_ost = 0, max_groups = 0, max_qps = 0, max_group_channels = 0, num_trees = 0;
  std::uint32_t stream_window = 0, chunk_bytes = 0;  ///< The streaming window and chunk; 0 means no streaming.
  std::uint64_t features = 0;                        ///< Those of the requested features that the tree has.

  bool operator==(const Allocation&) const = default;
};

/// Returns Errc::invalid if the wish can never be met, and Errc::exhausted if it cannot be met now.
Result<Allocation> allocate(const QuotaRules& rules, const Capacity& capacity, const Usage& used, const Wish& wish);

}  // namespace sumac::manager
