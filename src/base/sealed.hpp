#pragma once
// A message that only those read, and only those have written, who know its key: AES-256-GCM of libcrypto.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace sumac {

using SealKey = std::array<std::uint8_t, 32>;

/// A sealed message is so many bytes longer.
inline constexpr std::size_t kSealBytes = 16;

/// Seals one message. **A key seals one message only**: each message needs a key of its own, since no number that differs
/// from message to message goes with it. Errc::unsupported: libcrypto is missing or too old.
Result<std::vector<std::uint8_t>> seal(const SealKey& key, std::span<const std::uint8_t> message);

/// Returns nothing if this was not sealed with this key, or was changed since.
std::optional<std::vector<std::uint8_t>> open_sealed(const SealKey& key, std::span<const std::uint8_t> sealed);

}  // namespace sumac
