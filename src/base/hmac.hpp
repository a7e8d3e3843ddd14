#pragma once
// HMAC with the SHA-256 of libcrypto. Nothing of it is used that reads openssl.cnf or loads a provider: a process saves the
// time (docs/adr/0076).
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac {

using Mac = std::array<std::uint8_t, 32>;

/// Loads libcrypto, once per process. Returns Errc::unsupported if it is missing or too old; the text says what to
/// install.
Result<> prepare_hmac();

/// Returns false, with `mac` zero, if prepare_hmac() has failed or libcrypto had no memory. Then no peer may be
/// trusted.
[[nodiscard]] bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message,
                               Mac& mac) noexcept;

}  // namespace sumac
