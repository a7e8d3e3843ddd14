#include "wire/datagram.hpp"

#include "base/siphash.hpp"

namespace sumac::wire {
namespace {

std::uint64_t tag_of(std::span<const std::byte> message, const Secret& key) noexcept { return siphash(key, message); }

}  // namespace

void seal_datagram(std::span<std::byte> datagram, const Secret& key) noexcept {
  const auto message = datagram.first(datagram.size() - kTagBytes);
  const std::uint64_t tag = tag_of(message, key);
  for (std::size_t i = 0; i < kTagBytes; ++i) datagram[message.size() + i] = static_cast<std::byte>(tag >> (8 * i));
}

Errc open_datagram(std::span<const std::byte> datagram, const Secret& key, AggHeader& out) noexcept {
  if (datagram.size() < kAggHeaderBytes + kTagBytes || datagram.size() > kDatagramMax) return Errc::invalid;
  const auto message = datagram.first(datagram.size() - kTagBytes);
  std::uint64_t tag = 0;
  for (std::size_t i = kTagBytes; i-- > 0;)
    tag = tag << 8 | std::to_integer<std::uint64_t>(datagram[message.size() + i]);
  if (tag != tag_of(message, key)) return Errc::denied;
  if (decode(message, kMulticastPayloadMax, out) != Errc::ok) return Errc::invalid;
  return out.kind == AggKind::result && fits_multicast(out, out.payload_bytes) ? Errc::ok : Errc::invalid;
}

}  // namespace sumac::wire
