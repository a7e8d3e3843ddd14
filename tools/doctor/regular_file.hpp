#pragma once
#include <cstddef>
#include <string>

namespace sumac::tools::doctor {

/// Reads at most `bytes_max` bytes of a regular file; returns "" if it can't. The path may come from the command line of
/// another user's process, so a FIFO, which would block, and a device, which may have no end, are not read.
std::string read_regular_file(const std::string& path, std::size_t bytes_max = std::size_t{1} << 20);

}  // namespace sumac::tools::doctor
