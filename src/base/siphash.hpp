#pragma once
// SipHash-2-4: a keyed checksum of 64 bits for short messages (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast
// short-input PRF", 2012). Without the key it is infeasible to find a message with the right checksum.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "base/secret.hpp"

namespace sumac {

inline std::uint64_t siphash(const Secret& key, std::span<const std::byte> message) noexcept {
  const auto k0 = load_le<std::uint64_t>(key.data()), k1 = load_le<std::uint64_t>(key.data() + 8);
  std::uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d, v2 = k0 ^ 0x6c7967656e657261,
                v3 = k1 ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13), v1 ^= v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16), v3 ^= v2;
    v0 += v3, v3 = std::rotl(v3, 21), v3 ^= v0;
    v2 += v1, v1 = std::rotl(v1, 17), v1 ^= v2, v2 = std::rotl(v2, 32);
  };
  const auto take = [&](std::uint64_t word) {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  };
  const std::size_t whole = message.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) take(load_le<std::uint64_t>(message.data() + at));
  std::uint64_t last = std::uint64_t{message.size() & 0xFF} << 56;
  for (std::size_t at = whole; at < message.size(); ++at)
    last |= std::to_integer<std::uint64_t>(message[at]) << 8 * (at - whole);
  take(last);
  v2 ^= 0xFF;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace sumac
