#pragma once
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace sumac {

/// Opens memory that another process of this user shares with us. The path comes from that process by ways which others
/// may write, too, so only what such memory can be is opened: a memfd by /proc/PID/fd/N, or a file in /dev/shm whose name
/// begins with `prefix`; it belongs to this user, is no link, and has exactly `bytes`.
/// Returns Errc::denied for everything else.
Result<UniqueFd> open_shared(const std::string& path, const std::string& prefix, std::uint64_t bytes);

}  // namespace sumac
