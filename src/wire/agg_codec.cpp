#include "wire/agg_codec.hpp"

#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "hop/frame.h"
#include "wire/host_codec.hpp"

namespace sumac::wire {
namespace {

bool known(AggKind kind) noexcept {
  const auto value = static_cast<unsigned>(kind);
  return (value >= 1 && value <= 4) || (value >= 7 && value <= 9) || (value >= 16 && value <= 25);
}

/// null is a value of both enums and comes directly after the last real one.
bool in_range(Op op) noexcept { return static_cast<unsigned>(op) <= static_cast<unsigned>(Op::null); }
bool in_range(Dtype dtype) noexcept { return static_cast<unsigned>(dtype) <= static_cast<unsigned>(Dtype::null); }

/// Returns whether a message of this kind may be empty although the operation has elements.
bool may_be_empty(const AggHeader& h) noexcept {
  if (has_one_source(h)) return true;  // only one member has data to contribute, and it needs none back
  // The root of a reduce may keep its own part.
  if (h.kind == AggKind::contribute && h.coll == Coll::reduce)
    return (h.flags & (kFlagStreaming | kFlagReproducible)) == 0;
  return h.kind != AggKind::contribute && (h.coll == Coll::reduce || h.coll == Coll::reduce_scatter);
}

const char* flaw_of_data(const AggHeader& h) noexcept {
  const std::size_t element = element_of(h);
  if (element == 0) return "type, operation and tag type do not go together";
  if ((h.flags & kFlagReproducible) != 0 && !order_matters(h))
    return "flag reproducible is set though no order matters";
  if (h.payload_bytes % element != 0) return "payload_bytes is not a whole number of elements";
  const std::uint64_t elements = h.payload_bytes / element;
  if (h.first > h.count) return "first lies after the end of the operation";
  if (elements == 0) {
    if (h.count != 0 && !may_be_empty(h)) return "an operation with elements has no data";
    if (((h.flags & kFlagFirst) != 0) != (h.first == 0)) return "flag first and element first disagree";
    return nullptr;
  }
  if (elements > h.count - h.first) return "fragment reaches past the end of the operation";
  if (((h.flags & kFlagFirst) != 0) != (h.first == 0)) return "flag first and element first disagree";
  if (((h.flags & kFlagLast) != 0) != (h.first + elements == h.count))
    return "flag last and the fragment's end disagree";
  return nullptr;
}

const char* flaw_of_empty(const AggHeader& h) noexcept {
  if (h.op != Op::null || h.dtype != Dtype::null || h.tag_dtype != Dtype::null)
    return "an operation without data has a type";
  if (h.meaning != 0) return "an operation without data has a meaning";
  if (h.count != 0 || h.first != 0) return "an operation without data has elements";
  if (h.payload_bytes != 0) return "an operation without data carries a payload";
  if ((h.flags & kFlagStreaming) != 0) return "an operation without data is streaming";
  if ((h.flags & kFlagReproducible) != 0) return "an operation without data is reproducible";
  return nullptr;
}

const char* flaw_of_number(const AggHeader& h, std::uint32_t payload_max) noexcept {
  if (h.payload_bytes > payload_max) return "payload_bytes is more than was granted";
  if (h.group_id == GroupId{}) return "group_id is zero";
  if (h.kind == AggKind::result) {
    if (h.origin != kNoRank || h.members != 0) return "a result names an origin";
  } else {
    if (h.origin == kNoRank) return "origin is no rank";
    if (h.members == 0) return "members is zero";
  }
  switch (h.coll) {
    case Coll::barrier:
    case Coll::leave:
    case Coll::refusal:
    case Coll::lock:
    case Coll::unlock: return flaw_of_empty(h);
    case Coll::allreduce:
    case Coll::reduce:
    case Coll::bcast:
    case Coll::reduce_scatter:
    case Coll::allgather: return flaw_of_data(h);
    case Coll::none: break;
  }
  return "coll is unknown";
}

/// These say whether the kernels of the tree's nodes go on.
constexpr bool speaks_of_kernels(AggKind kind) noexcept { return kind == AggKind::over || kind == AggKind::trouble; }

const char* flaw_of_control(const AggHeader& h) noexcept {
  if (h.payload_bytes != body_bytes(h.kind)) return "payload_bytes is not the size of this kind's body";
  if (h.coll != Coll::none || h.op != Op::null || h.dtype != Dtype::null || h.tag_dtype != Dtype::null)
    return "a control message names an operation";
  const bool of_group = h.kind == AggKind::join || h.kind == AggKind::joined;
  const unsigned legal = of_group                    ? unsigned{kFlagReproducible}
                         : speaks_of_kernels(h.kind) ? unsigned{kFlagDatagrams}
                                                     : 0u;
  if ((h.flags & ~legal) != 0 || h.count != 0 || h.first != 0) return "a control message has flags or elements";
  if (h.kind != AggKind::trouble && (h.origin != kNoRank || h.members != 0)) return "a control message names an origin";
  switch (h.kind) {
    case AggKind::hello:
    case AggKind::welcome:
    case AggKind::proof:
    case AggKind::name:
    case AggKind::open:
    case AggKind::opened: return h.group_id == GroupId{} ? nullptr : "group_id is set before there is one";
    case AggKind::refused: return nullptr;  // the refusal of an Open has no group id, that of a Join has one
    default: return h.group_id != GroupId{} ? nullptr : "group_id is zero";
  }
}

}  // namespace

const char* flaw(const AggHeader& h, std::size_t payload, std::uint32_t payload_max) noexcept {
  if (h.magic != kAggMagic) return "magic is not 0x4153";
  if (!known(h.kind)) return "kind is unknown";
  // Hello, welcome and the refusal of a hello have the same bytes in every version, so that two peers of different
  // versions can report that.
  const bool greets = h.kind == AggKind::hello || h.kind == AggKind::welcome || h.kind == AggKind::refused;
  if (h.version != kAggVersion && (h.version == 0 || !greets)) return "version is not spoken here";
  if (h.payload_bytes != payload) return "payload_bytes differs from the bytes after the header";
  if (!in_range(h.op)) return "op is unknown";
  if (!in_range(h.dtype)) return "dtype is unknown";
  if (!in_range(h.tag_dtype)) return "tag_dtype is unknown";
  if ((h.flags & ~static_cast<unsigned>(kFlagsKnown)) != 0) return "flags are unknown";
  if ((h.flags & kFlagDenied) != 0 && h.coll != Coll::lock)
    return "flag denied is set for a kind that asks for nothing";
  if ((h.flags & kFlagListening) != 0 && h.kind != AggKind::contribute)
    return "flag listening is set for a kind that brings no contribution";
  if (h.root != 0 && h.coll != Coll::reduce && h.coll != Coll::bcast) return "root is set for a kind that has none";
  if (h.reserved != 0 || h.reserved_16 != 0) return "reserved is not zero";
  const bool has_datagrams = (h.flags & kFlagDatagrams) != 0;
  if (has_datagrams && !carries_data(h.kind) && !speaks_of_kernels(h.kind))
    return "flag datagrams is set for a kind that says nothing of datagrams";
  if (h.closed != Sequence{} && h.kind != AggKind::result && !(has_datagrams && h.kind == AggKind::contribute))
    return "closed is set for a kind that is no result";
  if (h.meaning != 0 && !carries_data(h.kind)) return "meaning is set for a kind without data";
  if (!carries_data(h.kind)) return flaw_of_control(h);
  return flaw_of_number(h, payload_max < kPayloadMax ? payload_max : kPayloadMax);
}

Errc decode(std::span<const std::byte> frame, std::uint32_t payload_max, AggHeader& out) noexcept {
  if (frame.size() < kAggHeaderBytes) return Errc::invalid;
  return decode_head(frame.first<kAggHeaderBytes>(), frame.size() - kAggHeaderBytes, payload_max, out);
}

Errc decode_head(std::span<const std::byte, kAggHeaderBytes> head, std::size_t payload, std::uint32_t payload_max,
                 AggHeader& out) noexcept {
  load(out, head.data());
  return flaw(out, payload, payload_max) == nullptr ? Errc::ok : Errc::invalid;
}

Result<AggHeader> decode_agg_header(std::span<const std::byte> frame, std::uint32_t payload_max) {
  if (frame.size() < kAggHeaderBytes)
    return fail(Errc::invalid, "message of {} bytes is shorter than its header of {}", frame.size(), kAggHeaderBytes);
  AggHeader header;
  load(header, frame.data());
  if (const char* what = flaw(header, frame.size() - kAggHeaderBytes, payload_max); what != nullptr)
    return fail(Errc::invalid, "{} ({}; {} bytes follow, at most {})", what,
                dump_fields(frame.first(kAggHeaderBytes), layout<AggHeader>()), frame.size() - kAggHeaderBytes,
                payload_max);
  return header;
}

const char* flaw(const HelloBody& b) noexcept {
  if (b.role != Role::client && b.role != Role::node) return "hello: role is unknown";
  if (b.role == Role::client && b.job_id == JobId{}) return "hello: a client has no job";
  if (b.role == Role::node && b.job_id != JobId{}) return "hello: a node names a job";
  if (b.version == 0) return "hello: version is zero";
  if (b.version != kAggVersion) return nullptr;  // the answer is a refusal that names both versions
  if (b.options != 0) return "hello: options are unknown";
  return nullptr;
}

const char* flaw(const WelcomeBody& b) noexcept {
  if (b.role != Role::node) return "welcome: only a node welcomes";
  if (b.version == 0) return "welcome: version is zero";
  if (b.version != kAggVersion) return nullptr;  // it is treated as a refusal that names both versions
  if ((b.options & ~std::uint32_t{kWelcomeDatagrams}) != 0) return "welcome: options are unknown";
  return nullptr;
}

const char* flaw(const ProofBody&) noexcept { return nullptr; }  // any 32 bytes may be a proof

std::string_view text_of(std::span<const char> name) noexcept {
  const std::string_view all(name.data(), name.size());
  return all.substr(0, all.find('\0'));
}

std::string_view text_of(const NameBody& body) noexcept { return text_of(std::span(body.text)); }

namespace {

bool may_name(char c) noexcept { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == ':'; }

const char* flaw_of_name(std::span<const char> name) noexcept {
  const auto text = text_of(name);
  if (text.size() == name.size()) return "name: empty, or not closed by a zero";
  if (!std::all_of(text.begin(), text.end(), may_name))
    return "name: it has a character that is none of letters, digits, - _ . :";
  for (const char c : name.subspan(text.size()))
    if (c != 0) return "name: a byte after its zero is not zero";
  return nullptr;
}

const char* flaw(const LostNode& b) noexcept {
  for (const auto name :
       {std::span<const char>(b.name), std::span<const char>(b.host), std::span<const char>(b.noticed_by)})
    if (flaw_of_name(name) != nullptr) return "lost: a name is malformed";
  return b.is_parent > 1 ? "lost: is_parent is neither 0 nor 1" : nullptr;
}

}  // namespace

void put_name(std::span<char> to, std::string_view text) noexcept {
  std::fill(to.begin(), to.end(), '\0');
  text = text.substr(0, to.size() - 1);
  std::transform(text.begin(), text.end(), to.begin(), [](char c) { return may_name(c) ? c : '_'; });
}

const char* flaw(const NameBody& b) noexcept {
  return b.text[0] == 0 ? "name: empty, or not closed by a zero" : flaw_of_name(b.text);
}

std::optional<NameBody> name_body(std::string_view text) noexcept {
  NameBody body;
  if (text.size() >= body.text.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), body.text.begin());
  if (flaw(body) != nullptr) return std::nullopt;
  return body;
}

const char* flaw(const OpenBody& b) noexcept {
  if (b.job_id == JobId{}) return "open: job_id is zero";
  if (b.group_size == 0) return "open: group_size is zero";
  if (b.reserved != 0) return "open: reserved is not zero";
  return nullptr;
}

const char* flaw(const OpenedBody& b) noexcept {
  if (b.job_id == JobId{}) return "opened: job_id is zero";
  if (b.group_id == GroupId{}) return "opened: group_id is zero";
  if (b.reserved != 0) return "opened: reserved is not zero";
  return nullptr;
}

const char* flaw(const JoinBody& b) noexcept {
  if (b.job_id == JobId{}) return "join: job_id is zero";
  if (b.group_size == 0 || b.group_size == kNoRank) return "join: group_size is no size";
  if (b.rank >= b.group_size) return "join: rank is not in the group";
  if (b.members == 0 || b.members > b.group_size) return "join: members is no number of members";
  if (b.osts == 0) return "join: osts is zero";
  if (b.payload_per_ost == 0 || b.payload_per_ost > kPayloadMax) return "join: payload_per_ost is out of range";
  if (b.chunk_bytes > kPayloadMax) return "join: chunk_bytes is out of range";
  if (b.reserved != 0) return "join: reserved is not zero";
  if (b.path_length == 0 || b.path_length > kPathMax) return "join: path_length is out of range";
  for (std::size_t i = 0; i < kPathMax; ++i) {
    const auto& entry = b.path[i];
    if (i >= b.path_length) {
      if (entry.node_id != NodeId{} || entry.expected_members != 0)
        return "join: an unused entry of the path is not zero";
    } else if (entry.expected_members == 0 || entry.expected_members > b.group_size) {
      return "join: expected_members is no number of members";
    }
  }
  return nullptr;
}

const char* flaw(const JoinedBody& b) noexcept {
  if (b.job_id == JobId{}) return "joined: job_id is zero";
  if (b.osts == 0) return "joined: osts is zero";
  if (b.payload_per_ost == 0 || b.payload_per_ost > kPayloadMax) return "joined: payload_per_ost is out of range";
  if (b.chunk_bytes > kPayloadMax) return "joined: chunk_bytes is out of range";
  return nullptr;
}

const char* flaw(const RefusedBody& b) noexcept {
  if (b.job_id == JobId{} && b.what != AggKind::hello) return "refused: job_id is zero";
  const auto reason = static_cast<std::uint32_t>(b.reason);
  constexpr std::uint32_t kNoReason = 7;  // Nobody has that one.
  if (reason < 1 || reason == kNoReason || reason > static_cast<std::uint32_t>(RefuseReason::member_lost))
    return "refused: reason is unknown";
  if (b.what != AggKind::hello && b.what != AggKind::open && b.what != AggKind::join)
    return "refused: only hello, open and join can be";
  for (const auto byte : b.reserved)
    if (byte != 0) return "refused: reserved is not zero";
  return nullptr;
}

const char* flaw(const TroubleBody& b) noexcept {
  const auto reason = static_cast<std::uint32_t>(b.reason);
  if (reason < 1 || reason > static_cast<std::uint32_t>(TroubleReason::gave_up)) return "trouble: reason is unknown";
  if (static_cast<std::uint32_t>(b.field) > static_cast<std::uint32_t>(Field::meaning))
    return "trouble: field is unknown";
  if (b.culprit == kNoRank) return "trouble: culprit is no rank";
  if (b.reason == TroubleReason::disagree && (b.field == Field::none || b.other == kNoRank))
    return "trouble: a disagreement names no field or only one rank";
  return flaw(b.lost);
}

const char* flaw(const InvitedBody& b) noexcept {
  constexpr std::uint8_t kMapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool ipv4 = std::equal(std::begin(kMapped), std::end(kMapped), b.address.begin());
  if (ipv4 ? (b.address[12] & 0xF0) != 0xE0 : b.address[0] != 0xFF) return "invited: address is no multicast address";
  if (b.port == 0) return "invited: port is zero";
  if (b.reserved_16 != 0 || b.reserved != 0) return "invited: reserved is not zero";
  return nullptr;
}

const char* flaw(const DatagramsBody& b) noexcept {
  if (b.payload_max == 0 || b.payload_max % 8 != 0 || b.payload_max > 8 * kHopPayloadWords)
    return "datagrams: payload_max is no size of theirs";
  if (b.child >= kHopChildren) return "datagrams: child is out of range";
  if (b.window == 0 || b.window > 8 || (b.window & (b.window - 1)) != 0)
    return "datagrams: window is none of 1, 2, 4, 8";
  if ((b.features & ~kDatagramsCanonical) != 0) return "datagrams: features are unknown";
  return nullptr;
}

const char* flaw(const OverBody& b) noexcept {
  const auto reason = static_cast<std::uint32_t>(b.reason);
  if (reason < 1 || reason > static_cast<std::uint32_t>(OverReason::manager)) return "over: reason is unknown";
  if (b.reason != OverReason::manager) return flaw(b.lost);
  const auto text = std::bit_cast<std::array<char, sizeof b.lost>>(b.lost);
  const auto end = std::find(text.begin(), text.end(), '\0');
  if (end == text.end()) return "over: its text is not closed by a zero";
  if (std::any_of(text.begin(), end, is_control)) return "over: its text has a control character";
  const bool more = std::any_of(end, text.end(), [](char c) { return c != 0; });
  return more ? "over: a byte after its text is not zero" : nullptr;
}

OverBody over_by_manager(NodeId from, std::string_view why) noexcept {
  std::array<char, sizeof(LostNode)> text{};
  why = why.substr(0, text.size() - 1);
  std::transform(why.begin(), why.end(), text.begin(), [](char c) { return is_control(c) ? ' ' : c; });
  return {OverReason::manager, from, std::bit_cast<LostNode>(text)};
}

std::string why_of(const OverBody& body) {
  const auto text = std::bit_cast<std::array<char, sizeof body.lost>>(body.lost);
  return body.reason == OverReason::manager ? std::string(text_of(std::span(text))) : std::string();
}

}  // namespace sumac::wire
