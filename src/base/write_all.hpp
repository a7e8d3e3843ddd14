#pragma once
// write(2) on a file, a pipe or a terminal may take only a part of the bytes; this function writes all of them.
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/result.hpp"

namespace sumac {

/// Blocks as long as the descriptor does. Errc::io may come after a part has been written.
[[nodiscard]] inline Result<> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace sumac
