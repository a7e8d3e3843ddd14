#include "proto/recovery_codec.hpp"

#include "base/fnv.hpp"
#include "proto/recovery_bytes.hpp"

namespace sumac::proto::recovery {
namespace {

const char* get(Reader& in, const CodecLimits& limits, Verdict& verdict) {
  verdict.first = in.get<Number>();
  verdict.also = in.mask();
  verdict.culprit = in.get<Rank>();
  const auto why = in.get<std::uint8_t>();
  if (verdict.first >= kNumberEnd) return "a verdict's number is too large";
  if (verdict.culprit >= limits.size) return "a verdict names no member";
  if (why > static_cast<std::uint8_t>(Why::disagrees)) return "a verdict has no known reason";
  verdict.why = static_cast<Why>(why);
  return nullptr;
}

const char* get(Reader& in, const CodecLimits& limits, std::optional<Verdict>& verdict) {
  const auto has = in.get<std::uint8_t>();
  if (has > 1) return "a flag is neither 0 nor 1";
  return has == 0 ? nullptr : get(in, limits, verdict.emplace());
}

const char* get(Reader& in, const CodecLimits& limits, std::optional<wire::VerdictBody>& word) {
  const auto has = in.get<std::uint8_t>();
  if (has > 1) return "a flag is neither 0 nor 1";
  if (has == 0) return nullptr;
  const auto bytes = in.take(sizeof *word);
  if (bytes.empty()) return "the message is too short or too long";
  wire::load(word.emplace(), bytes.data());
  if (const char* flaw = wire::flaw(*word)) return flaw;
  return word->culprit < limits.size ? nullptr : "a word names no member";
}

const char* get(Reader& in, const CodecLimits& limits, Join& join) {
  join.done = in.get<Number>();
  join.contributed = in.get<Number>();
  join.oldest = in.get<Number>();
  join.can_supply = in.mask();
  const auto leaves = in.get<std::uint8_t>();
  if (join.done >= kNumberEnd || join.contributed >= kNumberEnd || join.oldest > join.done)
    return "the numbers of a join are impossible";
  if (leaves > 1) return "a flag is neither 0 nor 1";
  join.leaves = leaves == 1;
  return get(in, limits, join.verdict);
}

const char* get(Reader& in, const CodecLimits& limits, Joined& joined) {
  joined.low = in.get<Number>();
  const auto count = in.get<std::uint32_t>();
  if (joined.low >= kNumberEnd || count > kSpanMax || std::size_t{count} * sizeof(Rank) > in.left())
    return "the numbers of a decision are impossible";
  joined.holders.resize(count);
  for (Rank& holder : joined.holders) {
    holder = in.get<Rank>();
    if (holder >= limits.size && holder != kNobody) return "a holder is no member";
  }
  return get(in, limits, joined.verdict);
}

const char* get(Reader& in, const CodecLimits& limits, Turn& turn, Data& data) {
  turn.number = in.get<Number>();
  const auto what = in.get<std::uint8_t>(), kind = in.get<std::uint8_t>();
  turn.operation.root = in.get<Rank>();
  if (what > static_cast<std::uint8_t>(Turn::What::skips) || kind > static_cast<std::uint8_t>(Kind::to_one))
    return "a turn is of no known kind";
  turn.what = static_cast<Turn::What>(what);
  turn.operation.kind = static_cast<Kind>(kind);
  if (turn.number >= kNumberEnd || turn.operation.root >= limits.size) return "a turn's number or root is impossible";
  if (turn.what == Turn::What::supplies) {  // It may come from a member that has not posted the number itself.
    turn.operation.terms = in.get<std::uint64_t>();
    if (in.left() > limits.payload_max) return "a turn is longer than a payload";
    data.payload = in.rest();
    return nullptr;
  }
  data.elements = in.get<std::uint32_t>();
  if (in.left() < wire::kAggHeaderBytes) return "a turn without its header";
  const auto frame = in.rest();
  wire::load(data.header, frame.data());
  data.payload = frame.subspan(wire::kAggHeaderBytes);
  const bool skips = turn.what == Turn::What::skips;
  if (skips && !data.payload.empty()) return "a member that skips a number sends data";
  const std::size_t part = skips ? data.header.payload_bytes : data.payload.size();
  if (const char* flaw = wire::flaw(data.header, part, limits.payload_max)) return flaw;
  turn.operation.terms = terms_of(data.header, data.elements);
  if (data.header.kind != wire::AggKind::contribute) return "a turn's header is of another kind";
  const std::uint64_t bytes = std::uint64_t{data.elements} * wire::element_of(data.header);
  if (bytes > limits.payload_max) return "a turn's fragment is longer than a payload";
  if (part != bytes && (part != 0 || !wire::has_one_source(data.header))) return "a turn has not all of its data";
  return nullptr;
}

}  // namespace

void encode(GroupKey group, const Message& message, const Data& data, std::vector<std::byte>& to) {
  Writer out(to);
  put(out, {static_cast<std::uint8_t>(message.body.index() + 1), group, message.epoch});
  if (const auto* join = std::get_if<Join>(&message.body)) {
    for (const Number each : {join->done, join->contributed, join->oldest}) out.put(each);
    out.put(join->can_supply);
    out.put(static_cast<std::uint8_t>(join->leaves));
    out.put(join->verdict);
  } else if (const auto* joined = std::get_if<Joined>(&message.body)) {
    out.put(joined->low);
    out.put(static_cast<std::uint32_t>(joined->holders.size()));
    for (const Rank each : joined->holders) out.put(each);
    out.put(joined->verdict);
  } else if (const auto* turn = std::get_if<Turn>(&message.body)) {
    out.put(turn->number);
    out.put(static_cast<std::uint8_t>(turn->what));
    out.put(static_cast<std::uint8_t>(turn->operation.kind));
    out.put(turn->operation.root);
    if (turn->what == Turn::What::supplies) return out.put(turn->operation.terms);
    out.put(data.elements);
    const auto header = wire::encoded(data.header);
    to.insert(to.end(), header.begin(), header.end());
  } else if (const auto* result = std::get_if<Result>(&message.body)) {
    out.put(result->number);
    out.put(result->closed);
    out.put(data.terms);
  } else if (const auto* closed = std::get_if<Closed>(&message.body)) {
    out.put(closed->closed);
  } else if (const auto* leaves = std::get_if<Leaves>(&message.body)) {
    out.put(leaves->end);
  } else if (const auto* condemned = std::get_if<Condemned>(&message.body)) {
    out.put(condemned->verdict);
  }
  if (!carries_word(message)) return;
  out.put(static_cast<std::uint8_t>(data.word.has_value()));
  if (!data.word) return;
  to.resize(to.size() + sizeof *data.word);
  wire::store(to.data() + to.size() - sizeof *data.word, *data.word);
}

std::optional<GroupKey> group_of(std::span<const std::byte> frame) noexcept {
  Reader in(frame);
  if (frame.size() < kHeadBytes || in.get<std::uint16_t>() != kMagic) return std::nullopt;
  in.take(2);
  GroupKey key;
  key.group = GroupId{in.get<std::uint32_t>()};
  in.take(sizeof(Epoch));
  key.tree = TreeId{in.get<std::uint32_t>()};
  return key;
}

const char* decode(std::span<const std::byte> frame, const CodecLimits& limits, GroupKey& group, Message& message,
                   Data& data) {
  Reader in(frame);
  Head head;
  if (const char* wrong = get(in, head)) return wrong;
  group = head.group;
  message.epoch = head.word;
  if (message.epoch >= 0x80000000u) return "the epoch is too large";
  data = {};
  const char* flaw = nullptr;
  switch (head.kind) {
    case 1: flaw = get(in, limits, message.body.emplace<Join>()); break;
    case 2: flaw = get(in, limits, message.body.emplace<Joined>()); break;
    case 3: flaw = get(in, limits, message.body.emplace<Turn>(), data); break;
    case 4: {
      auto& result = message.body.emplace<Result>();
      result.number = in.get<Number>();
      result.closed = in.get<Number>();
      data.terms = in.get<std::uint64_t>();
      if (result.number >= kNumberEnd || result.closed >= kNumberEnd) flaw = "a result's numbers are too large";
      if (in.left() > limits.payload_max) flaw = "a result is longer than a payload";
      data.payload = in.rest();
      break;
    }
    case 5: {
      auto& closed = message.body.emplace<Closed>();
      closed.closed = in.get<Number>();
      if (closed.closed >= kNumberEnd) flaw = "a closed number is too large";
      break;
    }
    case 6: flaw = get(in, limits, message.body.emplace<Condemned>().verdict); break;
    case 7: message.body.emplace<Move>(); break;
    case 8: message.body.emplace<Expelled>(); break;
    case 9: message.body.emplace<GivesUp>(); break;
    case 10: {
      auto& leaves = message.body.emplace<Leaves>();
      leaves.end = in.get<Number>();
      if (leaves.end >= kNumberEnd) flaw = "an end is too large";
      break;
    }
    case 11: message.body.emplace<Left>(); break;
    default: return "kind is unknown";
  }
  if (flaw == nullptr && carries_word(message)) flaw = get(in, limits, data.word);
  if (flaw != nullptr) return flaw;
  return in.is_done() ? nullptr : "the message is too short or too long";
}

std::uint64_t terms_of(const wire::AggHeader& h, std::uint32_t elements) noexcept {
  std::uint64_t hash = kFnvBegins;
  const auto add = [&](auto value) { hash = fnv1a(hash, static_cast<std::uint64_t>(value)); };
  add(h.coll);
  add(h.op);
  add(h.dtype);
  add(h.tag_dtype);
  add(h.meaning);
  add(h.flags & ~wire::kFlagListening);
  add(h.count);
  add(h.first);
  add(elements);
  return hash;
}

}  // namespace sumac::proto::recovery
