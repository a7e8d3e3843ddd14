// Any bytes are decoded as a message of the aggregation protocol: decoding must not crash, its variants must agree, an
// accepted message must encode to the same bytes, and every accepted body must lie inside its limits.
#include <cstdio>
#include <cstdlib>

#include "base/fuzz_target.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::wire {
namespace {

void must(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

template <Message Body>
void body(std::span<const std::byte> bytes) {
  Body out;
  const bool good = decode(bytes, out) == Errc::ok;
  must(good == (bytes.size() == sizeof out && flaw(out) == nullptr), "the reason agrees");
  if (!good) return;
  std::array<std::byte, sizeof(Body)> again;
  store(again.data(), out);
  must(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "a body comes back as it was");
}

void message(std::span<const std::byte> frame, std::uint32_t payload_max) {
  AggHeader h;
  const bool good = decode(frame, payload_max, h) == Errc::ok;
  const auto worded = decode_agg_header(frame, payload_max);
  must(good == static_cast<bool>(worded), "both variants agree");
  if (!good) {
    must(!worded.error().context.empty(), "a refusal has a reason");
    return;
  }
  must(!describe(h).empty(), "every message has words");
  const auto head = encoded(h);
  must(std::equal(head.begin(), head.end(), frame.begin()), "a header comes back as it was");
  const auto payload = frame.subspan(kAggHeaderBytes);
  must(payload.size() == h.payload_bytes, "payload_bytes is what follows");
  switch (h.kind) {
    case AggKind::hello: return body<HelloBody>(payload);
    case AggKind::welcome: return body<WelcomeBody>(payload);
    case AggKind::proof: return body<ProofBody>(payload);
    case AggKind::name: return body<NameBody>(payload);
    case AggKind::open: return body<OpenBody>(payload);
    case AggKind::opened: return body<OpenedBody>(payload);
    case AggKind::join: return body<JoinBody>(payload);
    case AggKind::joined: return body<JoinedBody>(payload);
    case AggKind::refused: return body<RefusedBody>(payload);
    case AggKind::trouble:
    case AggKind::verdict: return body<TroubleBody>(payload);
    case AggKind::over: return body<OverBody>(payload);
    case AggKind::invited: return body<InvitedBody>(payload);
    case AggKind::datagrams: return body<DatagramsBody>(payload);
    case AggKind::closed: return must(payload.empty(), "closed has no body");
    case AggKind::contribute:
    case AggKind::result:
      must(payload.size() <= payload_max, "data is within what was granted");
      must(h.first <= h.count, "the fragment begins inside the operation");
  }
}

}  // namespace
}  // namespace sumac::wire

SUMAC_FUZZ(agg) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  sumac::wire::message(bytes, sumac::wire::kPayloadMax);
  sumac::wire::message(bytes, 64);
  return 0;
}
