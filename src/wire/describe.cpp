// This file describes messages as text, for logs and dumps.
#include <algorithm>
#include <iterator>

#include "base/bytes.hpp"
#include "wire/agg_codec.hpp"

namespace sumac::wire {

std::string_view to_string(AggKind kind) noexcept {
  switch (kind) {
    case AggKind::hello: return "hello";
    case AggKind::welcome: return "welcome";
    case AggKind::proof: return "proof";
    case AggKind::name: return "name";
    case AggKind::open: return "open";
    case AggKind::join: return "join";
    case AggKind::contribute: return "contribute";
    case AggKind::supply: return "supply";
    case AggKind::skip: return "skip";
    case AggKind::trouble: return "trouble";
    case AggKind::opened: return "opened";
    case AggKind::joined: return "joined";
    case AggKind::refused: return "refused";
    case AggKind::result: return "result";
    case AggKind::verdict: return "verdict";
    case AggKind::void_epoch: return "void_epoch";
    case AggKind::invited: return "invited";
  }
  return "?";
}

std::string_view to_string(Coll coll) noexcept {
  static constexpr std::string_view kNames[] = {"none",  "barrier",        "allreduce", "reduce",
                                                "bcast", "reduce_scatter", "allgather", "close",
                                                "leave", "refusal",        "lock",      "unlock"};
  const auto i = static_cast<std::size_t>(coll);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string_view to_string(Field field) noexcept {
  static constexpr std::string_view kNames[] = {"none",  "coll",  "op",    "dtype",         "tag_dtype",
                                                "count", "first", "flags", "payload_bytes", "root"};
  const auto i = static_cast<std::size_t>(field);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string_view to_string(RefuseReason reason) noexcept {
  static constexpr std::string_view kNames[] = {
      "?",           "no_group_id", "no_ost",  "unknown_job", "unknown_group", "bad_path", "payload_too_large",
      "wrong_epoch", "bad_key",     "version", "node_limit",  "member_lost"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string_view to_string(TroubleReason reason) noexcept {
  static constexpr std::string_view kNames[] = {"?", "dead_rank", "disagree", "lost_connection", "gave_up"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string_view to_string(VoidReason reason) noexcept {
  static constexpr std::string_view kNames[] = {"?", "lost_node", "newer_epoch", "manager"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string describe(const AggHeader& h) {
  std::string text =
      fmt::format("{} tree {} group {} epoch {} seq {}", to_string(h.kind), h.tree_id, h.group_id, h.epoch, h.sequence);
  if (carries_data(h.kind)) {
    text += fmt::format(" {} {} {}", to_string(h.coll), sumac::to_string(h.op), sumac::to_string(h.dtype));
    if (h.tag_dtype != Dtype::null) text += fmt::format(" tag {}", sumac::to_string(h.tag_dtype));
    text += fmt::format(" count {} first {}", h.count, h.first);
    if (h.origin != kNoRank) text += fmt::format(" origin {} members {}", h.origin, h.members);
  }
  text += fmt::format(" bytes {}", h.payload_bytes);
  static constexpr std::string_view kFlagNames[] = {"first",        "last",   "streaming",
                                                    "reproducible", "denied", "listening"};
  static_assert((1u << std::size(kFlagNames)) - 1 == kFlagsKnown, "each flag has its name");
  std::string flags;
  for (std::size_t i = 0; i < std::size(kFlagNames); ++i)
    if ((h.flags & (1u << i)) != 0) flags += (flags.empty() ? "" : ",") + std::string(kFlagNames[i]);
  if (!flags.empty()) text += " flags " + flags;
  return text;
}

namespace {

template <Message Body>
std::string describe_body(std::span<const std::byte> bytes) {
  Body body;
  if (bytes.size() != sizeof body)
    return fmt::format("malformed: body has {} bytes, not {}", bytes.size(), sizeof body);
  load(body, bytes.data());
  const char* what = flaw(body);
  return (what == nullptr ? "" : fmt::format("malformed: {}: ", what)) + dump_fields(bytes, layout<Body>());
}

std::string describe_payload(AggKind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case AggKind::hello: return describe_body<HelloBody>(bytes);
    case AggKind::welcome: return describe_body<WelcomeBody>(bytes);
    case AggKind::proof: return describe_body<ProofBody>(bytes);
    case AggKind::name: return describe_body<NameBody>(bytes);
    case AggKind::open: return describe_body<OpenBody>(bytes);
    case AggKind::opened: return describe_body<OpenedBody>(bytes);
    case AggKind::join: return describe_body<JoinBody>(bytes);
    case AggKind::joined: return describe_body<JoinedBody>(bytes);
    case AggKind::refused: return describe_body<RefusedBody>(bytes);
    case AggKind::trouble:
    case AggKind::verdict: return describe_body<TroubleBody>(bytes);
    case AggKind::void_epoch: return describe_body<VoidBody>(bytes);
    case AggKind::invited: return describe_body<InvitedBody>(bytes);
    default: break;
  }
  if (bytes.empty()) return "";
  return hex(bytes.first(std::min<std::size_t>(bytes.size(), 32))) + (bytes.size() > 32 ? " ..." : "");
}

}  // namespace

std::string describe_agg_message(std::span<const std::byte> frame, std::uint32_t payload_max) {
  if (frame.size() < kAggHeaderBytes) return fmt::format("malformed: {} bytes, shorter than a header", frame.size());
  AggHeader header;
  load(header, frame.data());
  const auto rest = frame.subspan(kAggHeaderBytes);
  if (const char* what = flaw(header, rest.size(), payload_max); what != nullptr)
    return fmt::format("malformed: {}: {}", what, dump_fields(frame.first(kAggHeaderBytes), layout<AggHeader>()));
  const std::string body = describe_payload(header.kind, rest);
  return describe(header) + (body.empty() ? "" : " | " + body);
}

}  // namespace sumac::wire
