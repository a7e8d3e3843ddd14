#pragma once
#include <cstdint>

namespace sumac::machine {

/// Returns a number that two processes have in common if they can share memory: they have the same kernel (its boot id),
/// the same host name, and see the same /dev/shm. Containers and emulated hosts on one machine differ in one of them.
std::uint64_t memory_host();

}  // namespace sumac::machine
