#pragma once
// Limits the descriptors that a daemon spends on connections of strangers. gRPC aborts a process that has no descriptor
// left when it needs one (for example to reconnect to the manager), so some are kept in reserve.
#include <cstddef>

namespace sumac::control {

/// More descriptors than a daemon's gRPC, its threads, logs and state need.
inline constexpr std::size_t kDescriptorsKept = 64;

/// Raises this process's limit as far as permitted, but no further than `wanted` plus the reserve. Returns how many
/// descriptors strangers may use: `wanted` or fewer.
std::size_t descriptors_for_strangers(std::size_t wanted);

}  // namespace sumac::control
