#include "wire/hop_frame.hpp"

#include <bit>

#include "base/bytes.hpp"

namespace sumac::wire {
namespace {

#define F(field, meaning) SUMAC_FIELD(Self, field, meaning)

constexpr auto hop_header_rows() {
  using Self = HopHeader;
  return std::array{
      F(magic, "0x4853, \"SH\""),
      F(version, "1"),
      F(reserved, "zero"),
      F(group, "the group's number at the receiver"),
      F(tag, "SipHash-2-4 of all that follows, under the key of this direction"),
      F(kind, "1 contribution, 2 result, 3 probe, 4 answer to a probe"),
      F(flags,
        "1: all below the sender have contributed; 2: the payload is a bcast's data, the sum of all below "
        "the sender but a reduce's root, or a result; 4: every member has contributed"),
      F(child, "contribution: the sender's index at the receiver; else 0"),
      F(coll, "1 barrier, 2 allreduce, 3 reduce, 4 bcast"),
      F(op, "Op, or null"),
      F(dtype, "Dtype, or null"),
      F(payload_bytes, "bytes of the operation; zeros fill them up to a multiple of 8"),
      F(sequence, "position of the number in the group"),
      F(root, "reduce, bcast: group rank of the root, modulo 65536; else 0"),
      F(meaning, "what the callers mean by the bytes (src/base/meaning.hpp), or 0")};
}

#undef F

/// The payload is words of the host, and bytes on the wire.
void swap_payload([[maybe_unused]] HopPayload& payload) noexcept {
  if constexpr (std::endian::native == std::endian::big)
    for (auto& word : payload.word) word = __builtin_bswap64(word);
}

}  // namespace

SUMAC_LAYOUT(HopHeader, hop_header_rows)

std::span<const std::byte> seal_hop_frame(HopFrame frame, const HopKey& key, HopFrameBytes& to) noexcept {
  HopHeader& header = frame.header;
  header.magic = kHopMagic;
  header.version = kHopVersion;
  header.reserved = 0;
  const std::size_t words = hop_words(&header);
  if (words > kHopPayloadWords) return {};
  if (const unsigned rest = header.payload_bytes % 8; rest != 0)
    frame.payload.word[words - 1] &= (std::uint64_t{1} << 8 * rest) - 1;
  header.tag = hop_tag(&key, &header, &frame.payload, static_cast<std::uint32_t>(words));
  swap_payload(frame.payload);
  store(to.data(), header);
  std::memcpy(to.data() + sizeof header, &frame.payload, 8 * words);
  return std::span(to).first(sizeof header + 8 * words);
}

Errc open_hop_frame(std::span<const std::byte> datagram, const HopKey& key, HopFrame& out) noexcept {
  HopHeader& header = out.header;
  if (datagram.size() < sizeof header || datagram.size() > kHopFrameMax) return Errc::invalid;
  load(header, datagram.data());
  const std::uint32_t words = hop_words(&header);
  if (datagram.size() != sizeof header + 8 * words) return Errc::invalid;
  std::memcpy(&out.payload, datagram.data() + sizeof header, 8 * words);
  swap_payload(out.payload);
  if (header.tag != hop_tag(&key, &header, &out.payload, words)) return Errc::denied;
  if (header.magic != kHopMagic || header.version != kHopVersion || header.reserved != 0) return Errc::invalid;
  if (header.kind == kHopProbed) return header.payload_bytes == 0 ? Errc::ok : Errc::invalid;
  // A result always has its value: closed alone would leave a leaf without one.
  if (header.kind != kHopResult || !(header.flags & kHopValue) || (header.flags & ~(kHopValue | kHopClosed)) != 0)
    return Errc::invalid;
  return hop_admits(&header, 1, sizeof out.payload) ? Errc::ok : Errc::invalid;
}

}  // namespace sumac::wire
