#include "wire/peer.hpp"

#include "wire/agg.hpp"

namespace sumac::wire {
namespace {

#define F(field, meaning) SUMAC_FIELD(Self, field, meaning)

constexpr auto peer_header_rows() {
  using Self = PeerHeader;
  return std::array{
      F(magic, "0x5053, \"SP\""),
      F(version, "1"),
      F(kind, "PeerKind, table above"),
      F(group, "the group's number, the same at all members"),
      F(sequence,
        "number of the operation; message, offer, take, part: of the message from sender to receiver; credit: "
        "of the first message that may not come yet; note: any; else 0"),
      F(index,
        "data: number of the message from this sender to this receiver in the operation; ready: how many "
        "may come; ask: 1 begun, 2 ended; take: 1 send it, 2 drop it; part: number of the part; note: its word; else "
        "0"),
      F(begun, "operations that the sender has begun"),
      F(ended, "first operation that the sender has not ended"),
      F(payload_bytes, "bytes behind the header"),
      F(reserved, "zero"),
      F(terms.coll, "data, ready, ask: collective, in the order of the table in src/coll; else 0"),
      F(terms.algorithm, "how it is done, in the order of src/p2p/choose.hpp"),
      F(terms.op, "Op, or null"),
      F(terms.dtype, "Dtype, or null"),
      F(terms.tag, "tag's Dtype of a pair, or null"),
      F(terms.direct, "1: a block between two members alone, with numbers of its own"),
      F(terms.meaning, "what the callers mean by the bytes (src/base/meaning.hpp), or 0"),
      F(terms.root, "root; none: 0"),
      F(terms.element_bytes, "bytes of one element; no reduction: 0"),
      F(terms.bytes, "bytes of the vector or of one block; where sizes differ between members: 0"),
      F(reserved2, "zero")};
}
constexpr auto abort_rows() {
  using Self = AbortBody;
  return std::array{F(code, "the kind of error"), F(text, "the reason, filled up with zeros")};
}

constexpr auto message_rows() {
  using Self = MessageBody;
  return std::array{F(bytes, "the message's size"), F(tag, "the sender's word; a receive asks for one"),
                    F(reserved, "zero")};
}

bool has_terms(PeerKind kind) noexcept {
  return kind == PeerKind::data || kind == PeerKind::ready || kind == PeerKind::ask;
}

const char* flaw_of_size(const PeerHeader& h, std::uint32_t payload_max) noexcept {
  const auto exactly = [&](std::size_t bytes) {
    return h.payload_bytes == bytes ? nullptr : "payload_bytes is not the size of this kind's body";
  };
  switch (h.kind) {
    case PeerKind::hello: return exactly(sizeof(HelloBody));
    case PeerKind::welcome: return exactly(sizeof(WelcomeBody));
    case PeerKind::proof: return exactly(sizeof(ProofBody));
    case PeerKind::message:
      if (h.payload_bytes < sizeof(MessageBody)) return "payload_bytes is not the size of this kind's body";
      [[fallthrough]];
    case PeerKind::data:
    case PeerKind::part: return h.payload_bytes <= payload_max ? nullptr : "the payload is longer than any message";
    case PeerKind::offer: return exactly(sizeof(MessageBody));
    case PeerKind::abort: return exactly(sizeof(AbortBody));
    case PeerKind::ready:
    case PeerKind::ask:
    case PeerKind::tell:
    case PeerKind::leave:
    case PeerKind::take:
    case PeerKind::credit:
    case PeerKind::note: return exactly(0);
  }
  return "kind is unknown";
}

}  // namespace

SUMAC_LAYOUT(PeerHeader, peer_header_rows)
SUMAC_LAYOUT(AbortBody, abort_rows)
SUMAC_LAYOUT(MessageBody, message_rows)

std::string_view to_string(PeerKind kind) noexcept {
  constexpr std::string_view kNames[] = {"hello", "welcome", "proof", "data", "ready", "ask",    "tell", "abort",
                                         "leave", "message", "offer", "take", "part",  "credit", "note"};
  const auto index = static_cast<std::size_t>(kind) - 1;
  return index < std::size(kNames) ? kNames[index] : "?";
}

const char* flaw(const PeerHeader& h, std::size_t payload, std::uint32_t payload_max) noexcept {
  if (h.magic != kPeerMagic) return "magic is not 0x5053";
  if (h.version != kPeerVersion) return "another version: install the same version everywhere";
  if (h.payload_bytes != payload) return "payload_bytes differs from the bytes after the header";
  if (const char* what = flaw_of_size(h, payload_max); what != nullptr) return what;
  if (h.reserved != 0 || h.reserved2 != 0) return "a reserved field is not zero";
  if (!has_terms(h.kind)) {
    if (h.terms != PeerTerms{}) return "the message names an operation";
    if (h.kind == PeerKind::take && h.index != kTakeSend && h.index != kTakeDrop)
      return "take: index is neither 1 nor 2";
    if (h.kind >= PeerKind::message) {
      const bool has_index = h.kind == PeerKind::take || h.kind == PeerKind::part || h.kind == PeerKind::note;
      return h.index == 0 || has_index ? nullptr : "index is not zero";
    }
    return h.sequence == 0 && h.index == 0 ? nullptr : "the message names an operation";
  }
  const PeerTerms& t = h.terms;
  if (t.op != Op::null && !is_op(static_cast<unsigned>(t.op))) return "op is unknown";
  if (t.dtype != Dtype::null && !is_dtype(static_cast<unsigned>(t.dtype))) return "dtype is unknown";
  if (t.tag != Dtype::null && !is_dtype(static_cast<unsigned>(t.tag))) return "tag is unknown";
  if (t.direct > 1) return "direct is neither 0 nor 1";
  if (h.kind == PeerKind::ask && h.index != kAskBegun && h.index != kAskEnded) return "ask: index is neither 1 nor 2";
  return nullptr;
}

const char* flaw(const MessageBody& body, PeerKind kind, std::size_t payload) noexcept {
  if (body.reserved != 0) return "a reserved field is not zero";
  if (kind == PeerKind::message && body.bytes != payload - sizeof(MessageBody))
    return "the message's size is not its bytes'";
  return nullptr;
}

Errc decode_peer(std::span<const std::byte, kPeerHeaderBytes> head, std::size_t payload, std::uint32_t payload_max,
                 PeerHeader& out) noexcept {
  load(out, head.data());
  return flaw(out, payload, payload_max) == nullptr ? Errc::ok : Errc::invalid;
}

}  // namespace sumac::wire
