// Any bytes are decoded as a message between two members of a group without a tree.
#include <algorithm>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "wire/peer.hpp"

SUMAC_FUZZ(peer) {
  using namespace sumac;
  using namespace sumac::wire;
  constexpr std::uint32_t kPayloadMax = 4096;
  std::array<std::byte, kPeerHeaderBytes> head{};
  std::copy_n(reinterpret_cast<const std::byte*>(data), std::min(size, head.size()), head.begin());
  const std::size_t payload = size < head.size() ? 0 : size - head.size();
  PeerHeader h;
  if (decode_peer(head, payload, kPayloadMax, h) != Errc::ok) {
    fuzz::must(flaw(h, payload, kPayloadMax) != nullptr, "a refused message has a reason");
    return 0;
  }
  fuzz::must(to_string(h.kind) != "?", "its kind is known");
  fuzz::must(h.payload_bytes == payload && payload <= kPayloadMax, "its size is right");
  if (h.kind == PeerKind::message || h.kind == PeerKind::offer) {
    MessageBody body;
    load(body, reinterpret_cast<const std::byte*>(data) + kPeerHeaderBytes);
    if (flaw(body, h.kind, payload) == nullptr)
      fuzz::must(h.kind == PeerKind::offer || body.bytes + sizeof body == payload, "a short message has all its bytes");
  }
  std::array<std::byte, kPeerHeaderBytes> again{};
  store(again.data(), h);
  fuzz::must(again == head, "a message comes back as it was");
  return 0;
}
