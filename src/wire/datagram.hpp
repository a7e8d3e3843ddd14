#pragma once
// A result by multicast is the very message that the links carry, followed by a tag. Any process can send a datagram,
// so nothing in it is believed before the tag is verified: a keyed checksum (SipHash) under a key that the group's root
// drew and only its members know.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/secret.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::wire {

inline constexpr std::size_t kTagBytes = sizeof(std::uint64_t);
/// Larger results never go by multicast: with its headers this much fits into one frame of an ordinary Ethernet.
inline constexpr std::uint32_t kMulticastPayloadMax = 1024;
inline constexpr std::size_t kDatagramMax = kAggHeaderBytes + kMulticastPayloadMax + kTagBytes;

/// Returns whether this number's result may go by multicast. Only whole small operations may: for larger ones the
/// copies would cost a link as much as they save.
constexpr bool fits_multicast(const AggHeader& h, std::uint64_t result_bytes) noexcept {
  constexpr std::uint16_t kWhole = kFlagFirst | kFlagLast;
  return (h.flags & (kWhole | kFlagStreaming)) == kWhole && result_bytes <= kMulticastPayloadMax &&
         h.coll >= Coll::barrier && h.coll <= Coll::allgather;
}

/// Writes the tag into the last kTagBytes of `datagram`, after a whole message.
void seal_datagram(std::span<std::byte> datagram, const Secret& key) noexcept;

/// Checks the tag, then the message as every message is checked, and that it is a result that may come by multicast.
/// Errc::ok: `out` is its header, and all of `datagram` but the tag is the message. denied: the tag is wrong. invalid:
/// the message is not such a result.
Errc open_datagram(std::span<const std::byte> datagram, const Secret& key, AggHeader& out) noexcept;

}  // namespace sumac::wire
