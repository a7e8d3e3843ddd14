#pragma once
// The order of operation numbers, which wrap.
#include <cstdint>

namespace sumac::p2p {

constexpr bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }

}  // namespace sumac::p2p
