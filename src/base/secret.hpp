#pragma once
// Keys by which nodes distinguish a job's members from all other peers. A key never appears in a log, a status or a
// dump, and the time of a comparison does not reveal how many bytes were right.
#include <string.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace sumac {

using Secret = std::array<std::uint8_t, 16>;

/// Draws a key from the kernel's generator. Returns Errc::io if there is none.
Result<Secret> draw_secret();

/// Writes zeros that the compiler may not omit, into a copy of a key that is no longer needed.
template <std::size_t n>
void wipe(std::array<std::uint8_t, n>& secret) noexcept {
  ::explicit_bzero(secret.data(), n);
}

/// Compares two keys. It takes the same time wherever they differ.
template <std::size_t n>
[[nodiscard]] bool same_secret(const std::array<std::uint8_t, n>& a, const std::array<std::uint8_t, n>& b) noexcept {
  unsigned differ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    differ |= static_cast<unsigned>(a[i] ^ b[i]);
    // Hides the value from the compiler, which could otherwise skip the rest once a byte differs.
    asm volatile("" : "+r"(differ));
  }
  return differ == 0;
}

}  // namespace sumac
