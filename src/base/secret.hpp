#pragma once
// What only those know who may: the keys by which nodes tell a job's members from everybody else. Never in a log, a status or a
// dump; compared without telling by the time it takes how much of it was right.
#include <string.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"

namespace sumac {

using Secret = std::array<std::uint8_t, 16>;

/// From the kernel's generator. Errc::io: it has none.
Result<Secret> draw_secret();

/// Zeros that the compiler may not leave out: for copies of a key that nobody needs any more.
template <std::size_t n>
void wipe(std::array<std::uint8_t, n>& secret) noexcept {
  ::explicit_bzero(secret.data(), n);
}

/// Takes the same time whatever differs.
template <std::size_t n>
[[nodiscard]] bool same_secret(const std::array<std::uint8_t, n>& a, const std::array<std::uint8_t, n>& b) noexcept {
  unsigned differ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    differ |= static_cast<unsigned>(a[i] ^ b[i]);
    // Opaque to the compiler: it can't know that the rest no longer matters once something differs.
    asm volatile("" : "+r"(differ));
  }
  return differ == 0;
}

}  // namespace sumac
