#pragma once
// FNV-1a, 64 bits: a quick sum by which equal texts are recognised, among people who do not cheat (G. Fowler, L. C. Noll,
// K.-P. Vo, 1991). Tuning files hold it, so it never changes.
#include <cstdint>
#include <string_view>

namespace sumac {

inline constexpr std::uint64_t kFnvBegins = 0xcbf29ce484222325u;
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t next) noexcept {
  return (hash ^ next) * 0x100000001b3u;
}

constexpr std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = kFnvBegins;
  for (const char c : text) hash = fnv1a(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace sumac
