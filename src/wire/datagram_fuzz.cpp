// Any bytes are tried as a datagram of the multicast address: unchanged, and sealed with the right key, as a member of
// the job could.
#include <cstdlib>
#include <vector>

#include "base/fuzz_input.hpp"
#include "base/fuzz_target.hpp"
#include "wire/datagram.hpp"
#include "wire/samples.hpp"

SUMAC_FUZZ(datagram) {
  using namespace sumac;
  using namespace sumac::wire;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> datagram(bytes, bytes + size);
  const Secret key = datagram_key();
  AggHeader h;
  const auto believed = [&] {
    if (open_datagram(datagram, key, h) != Errc::ok) return false;
    fuzz::must(h.kind == AggKind::result, "only a result is believed");
    fuzz::must(h.payload_bytes + kAggHeaderBytes + kTagBytes == datagram.size(), "its payload is what came");
    fuzz::must(fits_multicast(h, h.payload_bytes), "it is a whole small operation");
    return true;
  };
  const bool good = believed();
  if (datagram.size() < kTagBytes) return 0;
  const auto before = datagram;
  seal_datagram(datagram, key);
  const bool sealed = believed();
  fuzz::must(!good || (sealed && datagram == before), "what was believed had the right tag");
  if (sealed && !good) fuzz::must(datagram != before, "the tag alone made the difference");
  return 0;
}
