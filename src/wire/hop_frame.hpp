#pragma once
// A frame of the datagram way (hop/frame.h) as a member sends and receives it. Any process can send a datagram, so
// nothing in a frame is believed before its tag is verified.
#include <cstddef>
#include <span>

#include "base/result.hpp"
#include "hop/payload.h"
#include "wire/layout.hpp"

namespace sumac::wire {

inline constexpr std::size_t kHopFrameMax = sizeof(HopFrame);
using HopFrameBytes = std::array<std::byte, kHopFrameMax>;

/// Sets magic, version and tag, and writes the frame. Returns its bytes in `to`: the words behind the payload are zeros.
std::span<const std::byte> seal_hop_frame(HopFrame frame, const HopKey& key, HopFrameBytes& to) noexcept;

/// Reads what a node sends to a member. Errc::denied: the tag is wrong. invalid: another layout, or no result and no
/// answer to a probe.
Errc open_hop_frame(std::span<const std::byte> datagram, const HopKey& key, HopFrame& out) noexcept;

}  // namespace sumac::wire
