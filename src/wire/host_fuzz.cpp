// Any bytes are decoded as a message between client library and sharpd. Short inputs are filled up, so that the fuzzer
// need not find the length of 1024 bytes first.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/fuzz_target.hpp"
#include "wire/host_codec.hpp"

namespace {

void must(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace

SUMAC_FUZZ(host) {
  using namespace sumac::wire;
  const std::span input(reinterpret_cast<const std::byte*>(data), size);
  if (size != kHostMessageBytes) must(!decode_host_message(input), "a message has 1024 bytes");
  std::array<std::byte, kHostMessageBytes> bytes{};
  std::copy_n(input.begin(), std::min(size, bytes.size()), bytes.begin());
  HostMessage message;
  const bool good = decode(bytes, message) == sumac::Errc::ok;
  must(good == static_cast<bool>(decode_host_message(bytes)), "both variants agree");
  must(good == (flaw_of_host_message(bytes) == nullptr), "and so does the reason");
  if (!good) return 0;
  must(!describe(message.header).empty(), "every message has words");
  must(encoded(message) == bytes, "a message comes back as it was");
  const auto& h = message.header;
  if (!is_list(h.kind)) return 0;
  must(h.entries >= 1 && h.entries <= host_entries_max(h.kind), "entries fit");
  must(h.index + h.entries <= h.total && h.total <= kListMax, "a list stays inside what it announced");
  if (h.kind == HostKind::job_node)
    for (std::size_t i = 0; i < h.entries; ++i)
      must(get_text(host_entry<JobNodeEntry>(message, i).address).size() < kAddressMax, "an address is closed");
  return 0;
}
