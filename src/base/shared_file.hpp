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

enum class Pages : std::uint8_t { when_touched, now };

/// Gives a new file of memory its size. With Pages::now a file system that is too small is ENOSPC here, and not SIGBUS at a
/// later touch. Returns 0 or an errno value; EFBIG beyond the limit of the process (ulimit -f), for which the kernel
/// would send SIGXFSZ.
int size_shared(int fd, std::uint64_t bytes, Pages pages) noexcept;

}  // namespace sumac
