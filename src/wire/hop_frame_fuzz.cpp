// Any bytes are tried as a datagram for a member: unchanged, and with the right tag, as another member of the group could
// send them.
#include <algorithm>
#include <vector>

#include "base/bytes.hpp"
#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "wire/hop_frame.hpp"
#include "wire/samples.hpp"

SUMAC_FUZZ(hop_frame) {
  using namespace sumac;
  using namespace sumac::wire;
  const HopKey key = hop_key();
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> datagram(bytes, bytes + size);
  HopFrame frame{};
  const auto believed = [&] {
    if (open_hop_frame(datagram, key, frame) != Errc::ok) return false;
    fuzz::must(frame.header.kind == kHopResult || frame.header.kind == kHopProbed, "it is for a member");
    fuzz::must(datagram.size() == kHopHeaderBytes + 8 * hop_words(&frame.header), "its payload is what came");
    HopFrameBytes again{};
    const auto sealed = seal_hop_frame(frame, key, again);
    fuzz::must(frame.header.payload_bytes % 8 != 0 || std::ranges::equal(sealed, datagram), "it comes back as it was");
    return true;
  };
  (void)believed();
  if (datagram.size() < kHopHeaderBytes || datagram.size() > kHopFrameMax || datagram.size() % 8 != 0) return 0;
  HopFrame raw{};
  load(raw.header, datagram.data());
  std::memcpy(&raw.payload, datagram.data() + kHopHeaderBytes, datagram.size() - kHopHeaderBytes);
  const auto words = static_cast<std::uint32_t>((datagram.size() - kHopHeaderBytes) / 8);
  store_le(datagram.data() + offsetof(HopHeader, tag), hop_tag(&key, &raw.header, &raw.payload, words));
  (void)believed();
  return 0;
}
