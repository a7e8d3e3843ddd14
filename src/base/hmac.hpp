#pragma once
// HMAC-SHA-256 of libcrypto (OpenSSL 3). The client library lives in programs that may bring another OpenSSL, or none: libcrypto is
// loaded when it is first needed, its symbols stay out of the program's, and it works in a context of its own, so that the program's
// settings of OpenSSL stay as they are (docs/adr/0050).
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "base/secret.hpp"

namespace sumac {

using Mac = std::array<std::uint8_t, 32>;

/// Loads libcrypto, once for the process. Errc::unsupported: it is missing or too old; the text says what to install.
Result<> prepare_hmac();

/// False, and `mac` is zero: prepare_hmac() has failed, or libcrypto had no memory. Nobody may then be believed.
[[nodiscard]] bool hmac_sha256(std::span<const std::uint8_t> key, std::span<const std::byte> message,
                               Mac& mac) noexcept;

}  // namespace sumac
