#include "wire/datagram.hpp"

#include "base/bytes.hpp"
#include "base/siphash.hpp"

namespace sumac::wire {

void seal_datagram(std::span<std::byte> datagram, const Secret& key) noexcept {
  const auto message = datagram.first(datagram.size() - kTagBytes);
  store_le(datagram.data() + message.size(), siphash(key, message));
}

Errc open_datagram(std::span<const std::byte> datagram, const Secret& key, AggHeader& out) noexcept {
  if (datagram.size() < kAggHeaderBytes + kTagBytes || datagram.size() > kDatagramMax) return Errc::invalid;
  const auto message = datagram.first(datagram.size() - kTagBytes);
  if (load_le<std::uint64_t>(datagram.data() + message.size()) != siphash(key, message)) return Errc::denied;
  if (decode(message, kMulticastPayloadMax, out) != Errc::ok) return Errc::invalid;
  return out.kind == AggKind::result && fits_multicast(out, out.payload_bytes) ? Errc::ok : Errc::invalid;
}

}  // namespace sumac::wire
