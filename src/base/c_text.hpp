#pragma once
#include <cstddef>
#include <string_view>

namespace sumac {

/// Copies as much of `text` as fits into a caller's buffer of `bytes` bytes, with the closing zero. A buffer of 0 bytes
/// may be null and stays as it is.
inline void copy_text(std::string_view text, char* out, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  out[text.copy(out, bytes - 1)] = '\0';
}

}  // namespace sumac
