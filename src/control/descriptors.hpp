#pragma once
// How many descriptors a daemon may give to connections of strangers. gRPC ends the process that has none left when it needs one (to reach the
// manager anew, say), so some are kept from them.
#include <cstddef>

namespace sumac::control {

/// More than gRPC, its threads, logs and state need of a daemon.
inline constexpr std::size_t kDescriptorsKept = 64;

/// Raises this process's limit as far as it may, `wanted` and those kept being enough. Returns how many strangers may have: `wanted` or fewer.
std::size_t descriptors_for_strangers(std::size_t wanted);

}  // namespace sumac::control
