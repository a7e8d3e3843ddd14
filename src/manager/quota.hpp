#pragma once
// Decides how much of a tree a job gets. No resource is granted twice: at each node of the tree the sum over its jobs
// stays within the capacity of the node's shard. It is pure arithmetic; a refusal names the resource and the variable
// to change.
#include <cstdint>

#include "base/result.hpp"
#include "wire/quota.hpp"

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

/// Returns the quota that a job gets for the one that it asks for; of the features, those that the tree has.
/// Errc::invalid: it can never be met; Errc::exhausted: it cannot be met now.
Result<wire::Quota> allocate(const QuotaRules& rules, const Capacity& capacity, const Usage& used,
                             const wire::Quota& asked);

}  // namespace sumac::manager
