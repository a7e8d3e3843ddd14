#pragma once
// FNV-1a, 64 bits: a quick sum by which equal texts are recognised, among people who do not cheat (G. Fowler, L. C. Noll,
// K.-P. Vo, 1991). Tuning files hold it, so it never changes.
#include <cstdint>
#include <string_view>

namespace sumac {

constexpr std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace sumac
