#pragma once
// Decodes and encodes messages of the aggregation protocol. Decoding checks every field, so that no machine needs to
// ask whether a peer is honest about sizes, enums or counts. The checks, per kind:
//   all kinds          magic, version (hello, welcome, refused: any), known kind, known flags, reserved zero, root zero
//                      but for reduce and bcast, closed zero but for result, payload_bytes = the bytes after the header
//   control kinds      payload is exactly the body; coll none, op/dtype/tag_dtype null, flags, count, first, members
//                      zero, origin kNoRank (trouble: any origin and members); group_id zero for hello, welcome, proof, name,
//                      open and opened, not zero for join, joined, trouble, verdict, over, invited and closed
//   contribute         coll known, members >= 1, origin a rank; result: origin kNoRank, members zero
//   barrier, leave, lock   no type, no data: op, dtype, tag_dtype null, count, first, payload_bytes zero, not streaming
//   reductions         legal(dtype, op, tag_dtype); whole elements; fragment within [first, count); flag First exactly
//                      when first = 0, Last exactly when it reaches count; empty only when count is zero or (result)
//                      the kind gives no data
//   bcast, allgather   a type without operation, and data from one member for each fragment: contributions of the others
//                      are empty, and so is the result for the one they came from; an allgather with `bor` is cut like
//                      a reduction
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "wire/agg.hpp"
#include "wire/layout.hpp"

namespace sumac::wire {

inline constexpr std::size_t kAggHeaderBytes = sizeof(AggHeader);

/// For the hot path: returns Errc::ok or Errc::invalid, without text or allocation. `frame` is the whole message;
/// `payload_max` bounds the data after contribute and result (bodies of the other kinds have their own fixed
/// size).
Errc decode(std::span<const std::byte> frame, std::uint32_t payload_max, AggHeader& out) noexcept;

/// Does the same for a message whose `payload` bytes are still to come: `head` is its header.
Errc decode_head(std::span<const std::byte, kAggHeaderBytes> head, std::size_t payload, std::uint32_t payload_max,
                 AggHeader& out) noexcept;

/// Does the same checks with a sentence that names the field: for the one message that ends a connection.
Result<AggHeader> decode_agg_header(std::span<const std::byte> frame, std::uint32_t payload_max);

/// Returns null if every field is right, else a static text on the first wrong one. `payload` = bytes that follow the
/// header.
const char* flaw(const AggHeader& header, std::size_t payload, std::uint32_t payload_max) noexcept;

const char* flaw(const HelloBody& body) noexcept;
const char* flaw(const WelcomeBody& body) noexcept;
const char* flaw(const ProofBody& body) noexcept;
const char* flaw(const NameBody& body) noexcept;
const char* flaw(const OpenBody& body) noexcept;
const char* flaw(const OpenedBody& body) noexcept;
const char* flaw(const JoinBody& body) noexcept;
const char* flaw(const JoinedBody& body) noexcept;
const char* flaw(const RefusedBody& body) noexcept;
const char* flaw(const TroubleBody& body) noexcept;
const char* flaw(const OverBody& body) noexcept;
const char* flaw(const InvitedBody& body) noexcept;
const char* flaw(const DatagramsBody& body) noexcept;

/// Makes the body that says why the manager ended a job. It holds as much of `why` as fits in the place of the lost
/// node, with a blank for each control character.
OverBody over_by_manager(NodeId from, std::string_view why) noexcept;
/// Returns the text of a body with the reason manager; empty if it has none.
std::string why_of(const OverBody& body);

/// Decodes a body: `bytes` is the payload. Returns Errc::ok or Errc::invalid.
template <Message Body>
Errc decode(std::span<const std::byte> bytes, Body& out) noexcept {
  if (bytes.size() != sizeof(Body)) return Errc::invalid;
  load(out, bytes.data());
  return flaw(out) == nullptr ? Errc::ok : Errc::invalid;
}

/// Returns nothing when the text is no name (empty, too long, or with other characters).
std::optional<NameBody> name_body(std::string_view text) noexcept;
std::string_view text_of(const NameBody& body) noexcept;
/// Copies as much of `text` as fits, with _ for each character that a name cannot have, and fills up with zeros.
void put_name(std::span<char> to, std::string_view text) noexcept;
std::string_view text_of(std::span<const char> name) noexcept;

/// Returns the bytes of the body that a kind carries; 0 for closed, and for the kinds that carry user data.
constexpr std::uint32_t body_bytes(AggKind kind) noexcept {
  switch (kind) {
    case AggKind::hello: return sizeof(HelloBody);
    case AggKind::welcome: return sizeof(WelcomeBody);
    case AggKind::proof: return sizeof(ProofBody);
    case AggKind::name: return sizeof(NameBody);
    case AggKind::open: return sizeof(OpenBody);
    case AggKind::opened: return sizeof(OpenedBody);
    case AggKind::join: return sizeof(JoinBody);
    case AggKind::joined: return sizeof(JoinedBody);
    case AggKind::refused: return sizeof(RefusedBody);
    case AggKind::trouble:
    case AggKind::verdict: return sizeof(TroubleBody);
    case AggKind::over: return sizeof(OverBody);
    case AggKind::invited: return sizeof(InvitedBody);
    case AggKind::datagrams: return sizeof(DatagramsBody);
    case AggKind::closed:
    case AggKind::contribute:
    case AggKind::result: return 0;
  }
  return 0;
}
constexpr bool carries_data(AggKind kind) noexcept { return kind == AggKind::contribute || kind == AggKind::result; }

inline void encode(const AggHeader& header, std::span<std::byte, kAggHeaderBytes> to) noexcept {
  store(to.data(), header);
}
inline std::array<std::byte, kAggHeaderBytes> encoded(const AggHeader& header) noexcept {
  std::array<std::byte, kAggHeaderBytes> bytes;
  store(bytes.data(), header);
  return bytes;
}

/// A header and its body as they are sent: short enough to be the `head` of Transport::send().
template <Message Body>
using ControlFrame = std::array<std::byte, kAggHeaderBytes + sizeof(Body)>;

/// Sets payload_bytes; the caller has set the kind and the other fields of the header.
template <Message Body>
ControlFrame<Body> encoded(AggHeader header, const Body& body) noexcept {
  static_assert(kAggHeaderBytes + sizeof(Body) <= 256, "Transport copies heads up to 256 bytes");
  header.payload_bytes = sizeof(Body);
  ControlFrame<Body> frame;
  store(frame.data(), header);
  store(frame.data() + kAggHeaderBytes, body);
  return frame;
}

// Return names for people; "?" for an unknown value.
std::string_view to_string(AggKind kind) noexcept;
std::string_view to_string(Coll coll) noexcept;
std::string_view to_string(Field field) noexcept;

/// Returns a field's value in words where there are some: "float32", "sum", "first,last".
std::string describe(Field field, std::uint64_t value);

/// Returns one line: "contribute group 7 seq 12 allreduce sum float32 count 1024 first 0 bytes 4096 flags first,last
/// ...".
std::string describe(const AggHeader& header);

template <>
inline constexpr std::size_t kNumberBytes<PathEntry> = 4;
template <>
std::span<const FieldRow> layout<AggHeader>() noexcept;
template <>
std::span<const FieldRow> layout<HelloBody>() noexcept;
template <>
std::span<const FieldRow> layout<WelcomeBody>() noexcept;
template <>
std::span<const FieldRow> layout<ProofBody>() noexcept;
template <>
std::span<const FieldRow> layout<OpenBody>() noexcept;
template <>
std::span<const FieldRow> layout<OpenedBody>() noexcept;
template <>
std::span<const FieldRow> layout<JoinBody>() noexcept;
template <>
std::span<const FieldRow> layout<JoinedBody>() noexcept;
template <>
std::span<const FieldRow> layout<RefusedBody>() noexcept;
template <>
std::span<const FieldRow> layout<TroubleBody>() noexcept;
template <>
std::span<const FieldRow> layout<OverBody>() noexcept;
template <>
std::span<const FieldRow> layout<NameBody>() noexcept;
template <>
std::span<const FieldRow> layout<InvitedBody>() noexcept;
template <>
std::span<const FieldRow> layout<DatagramsBody>() noexcept;

}  // namespace sumac::wire
