#pragma once
// Room in a memory file system. A container's /dev/shm is 64 MiB or 1 MiB, and writing beyond it is a SIGBUS, not an
// error: who makes a file there asks first, and reserves what it needs.
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace sumac::machine {

/// Bytes that this process may still write to the file system of `path`.
Result<std::uint64_t> free_bytes(const std::string& path = "/dev/shm");

}  // namespace sumac::machine
