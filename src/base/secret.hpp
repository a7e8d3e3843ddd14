#pragma once
// What only those know who may: the keys by which nodes tell a job's members from everybody else. Never in a log, a status or a
// dump; compared without telling by the time it takes how much of it was right.
#include <array>
#include <cstdint>

#include "base/result.hpp"

namespace sumac {

using Secret = std::array<std::uint8_t, 16>;

/// From the kernel's generator. Errc::io: it has none.
Result<Secret> draw_secret();

/// Takes the same time whatever differs.
[[nodiscard]] inline bool same_secret(const Secret& a, const Secret& b) noexcept {
  unsigned differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ |= static_cast<unsigned>(a[i] ^ b[i]);
    // Opaque to the compiler: it can't know that the rest no longer matters once something differs.
    asm volatile("" : "+r"(differ));
  }
  return differ == 0;
}

}  // namespace sumac
