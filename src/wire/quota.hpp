#pragma once
// The resources of a job, in one record with the same names from the library's request to the nodes: in the messages
// between library and sharpd, in those of the manager, in its state file and at the nodes.
#include <cstdint>
#include <type_traits>

namespace sumac::wire {

/// In a request 0 stands for the default share; in an answer each value is the granted one, for each tree.
struct Quota {
  std::uint32_t osts = 0, payload_per_ost = 0, max_groups = 0, max_qps = 0, max_group_channels = 0, num_trees = 0;
  std::uint32_t stream_window = 0;  ///< Chunks in flight; 0: no streaming. A request does not set it.
  std::uint32_t chunk_bytes = 0;    ///< Bytes of a chunk. A request does not set it.
  std::uint64_t features = 0;       ///< Bits of enum sharp_job_features.

  friend bool operator==(const Quota&, const Quota&) = default;
};
static_assert(sizeof(Quota) == 40 && std::has_unique_object_representations_v<Quota>);

/// Group numbers `first` to `first + count - 1`.
struct NumberRange {
  std::uint32_t first = 0, count = 0;

  bool has(std::uint32_t number) const noexcept { return number >= first && number - first < count; }
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

}  // namespace sumac::wire
