// This file describes messages as text, for logs.
#include <iterator>

#include "base/meaning.hpp"
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
    case AggKind::trouble: return "trouble";
    case AggKind::opened: return "opened";
    case AggKind::joined: return "joined";
    case AggKind::refused: return "refused";
    case AggKind::result: return "result";
    case AggKind::verdict: return "verdict";
    case AggKind::over: return "over";
    case AggKind::invited: return "invited";
    case AggKind::closed: return "closed";
    case AggKind::datagrams: return "datagrams";
  }
  return "?";
}

std::string_view to_string(Coll coll) noexcept {
  static constexpr std::string_view kNames[] = {"none",  "barrier",        "allreduce", "reduce",
                                                "bcast", "reduce_scatter", "allgather", "?",
                                                "leave", "refusal",        "lock",      "unlock"};
  const auto i = static_cast<std::size_t>(coll);
  return i < std::size(kNames) ? kNames[i] : "?";
}

std::string_view to_string(Field field) noexcept {
  static constexpr std::string_view kNames[] = {
      "none", "coll", "op", "dtype", "tag_dtype", "count", "first", "flags", "payload_bytes", "root", "meaning"};
  const auto i = static_cast<std::size_t>(field);
  return i < std::size(kNames) ? kNames[i] : "?";
}

namespace {
std::string names_of_flags(std::uint64_t flags) {
  static constexpr std::string_view kNames[] = {"first",  "last",      "streaming", "reproducible",
                                                "denied", "listening", "datagrams"};
  static_assert((1u << std::size(kNames)) - 1 == kFlagsKnown, "each flag has its name");
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if ((flags & (1u << i)) != 0) text += (text.empty() ? "" : ",") + std::string(kNames[i]);
  return text;
}
}  // namespace

std::string describe(Field field, std::uint64_t value) {
  // A peer sends the value, so it may be none that the field can have.
  const auto small = static_cast<std::uint8_t>(value);
  std::string_view name = "?";
  if (field == Field::coll) name = to_string(static_cast<Coll>(small));
  if (field == Field::op) name = sumac::to_string(static_cast<Op>(small));
  if (field == Field::dtype || field == Field::tag_dtype) name = sumac::to_string(static_cast<Dtype>(small));
  if (field == Field::meaning) return describe_meaning(static_cast<std::uint16_t>(value));
  if (field == Field::flags) return (value & kFlagsKnown) == 0 ? "none" : names_of_flags(value);
  return name == "?" || small != value ? std::to_string(value) : std::string(name);
}

std::string describe(const AggHeader& h) {
  std::string text = fmt::format("{} tree {} group {} seq {}", to_string(h.kind), h.tree_id, h.group_id, h.sequence);
  if (carries_data(h.kind)) {
    text += fmt::format(" {} {} {}", to_string(h.coll), sumac::to_string(h.op), sumac::to_string(h.dtype));
    if (h.tag_dtype != Dtype::null) text += fmt::format(" tag {}", sumac::to_string(h.tag_dtype));
    text += fmt::format(" count {} first {}", h.count, h.first);
    if (h.origin != kNoRank) text += fmt::format(" origin {} members {}", h.origin, h.members);
  }
  text += fmt::format(" bytes {}", h.payload_bytes);
  if (h.flags != 0) text += " flags " + names_of_flags(h.flags);
  return text;
}

}  // namespace sumac::wire
