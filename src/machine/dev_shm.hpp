#pragma once
// Free memory in a memory file system. A container's /dev/shm may have only 64 MiB or 1 MiB, and a write beyond that
// raises SIGBUS instead of an error. So a process that makes a file there asks first, and reserves the bytes that it
// needs.
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace sumac::machine {

/// Returns the bytes that this process may still write to the file system of `path`.
Result<std::uint64_t> free_bytes(const std::string& path = "/dev/shm");

}  // namespace sumac::machine
