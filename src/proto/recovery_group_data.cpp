// The bytes of a group's numbers: kept at a member, gathered and summed at the root of an epoch, and written to the user.
#include <bit>
#include <cstring>

#include "proto/recovery_group.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {

/// On the tree results are kept with their headers.
std::size_t Group::kept_most() const noexcept {
  return std::bit_ceil(std::size_t{4} * shape().window()) *
         BufferPool::footprint(wire::kAggHeaderBytes + payload_most());
}

std::size_t Group::streams_kept_most(std::uint32_t stream_window, std::uint32_t chunk_bytes) noexcept {
  return std::bit_ceil(std::size_t{2} * stream_window) * BufferPool::footprint(wire::kAggHeaderBytes + chunk_bytes);
}

/// Two siblings that are both in become one sum, so a number has at most half as many sums as members, and one result.
std::size_t Group::gathered_most() const noexcept {
  return std::size_t{2} * shape().window() * (config_.group_size / 2 + 2) * BufferPool::footprint(payload_most());
}

/// Says for whom an operation may end early, as ClientGroup does.
Kind Group::kind_of(const wire::AggHeader& header) const noexcept {
  if (header.coll == wire::Coll::reduce) return Kind::to_one;
  return is_prompt(header, config_.resend_after, config_.group_size) ? Kind::from_one : Kind::all;
}

/// The operation may end here without a result.
bool Group::is_early(Kind kind, Rank root) const noexcept {
  return (kind == Kind::from_one && root == config_.rank) || (kind == Kind::to_one && root != config_.rank);
}

Group::Slot& Group::begin_slot(Number number) {
  Slot& at = slot(number);
  if (at.number != number) at = Slot{.number = number};
  return at;
}

Group::Posted* Group::find_operation(std::uint32_t id) noexcept {
  if (operations_.empty()) return nullptr;
  const std::uint32_t at = id - operations_.front().id.value;
  return at < operations_.size() ? &operations_[at] : nullptr;
}

BufferSlice Group::copy(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  BufferRef buffer = pool_.acquire(bytes.size());
  if (!buffer) {
    broken_ = "no memory is left for a number's data";
    return {};
  }
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return BufferSlice(std::move(buffer));
}

/// A member that contributes although it has a result posted another operation than the others.
Payload Group::data_of(const Slot& at, Turn::What what) noexcept {
  if (what == Turn::What::skips) return {};
  if (!at.kept || (at.has_result && what == Turn::What::contributes)) return {at.part};
  return {at.kept.bytes(), at.kept.buffer()};
}

// ---- what has happened on the tree ----------------------------------------------------------------------------

/// On the tree this class is asked for nothing and does nothing. Whatever concerns it begins here.
void Group::catch_up() {
  if (!member_ || !is_on_tree()) return;
  const ClientHistory history = client_->history();
  if (history.lacks_memory) broken_ = "no memory is left for a number's data";
  operations_.clear();
  next_id_ = history.first_operation.value;
  cut_ = history.cut.value;
  for (const auto& each : history.operations)
    operations_.push_back({each.cutting, {next_id_++}, each.is_over ? Number{0} : kNone, each.status, each.ends_batch});
  lock_ = history.lock;
  if (Posted* posted = find_operation(cut_); posted != nullptr) posted->is_begun = lock_.due() == wire::Coll::lock;
  slots_ = std::vector<Slot>(std::bit_ceil(std::size_t{4} * shape().window()));
  std::vector<Member::Past> past;
  Number number = forgotten_ = history.first;
  for (const auto& each : history.numbers) {
    take(each, number++);
    past.push_back({{kind_of(each.header), each.root, slot(number - 1).terms}, each.has_result});
  }
  member_->catch_up(history.first, history.closed, past);
  forget();
  say_leave();
}

void Group::take(const ClientHistory::Number& from, Number number) {
  Slot& at = begin_slot(number);
  at.header = from.header;
  at.header.flags &= static_cast<std::uint16_t>(~wire::kFlagListening);
  at.elements = from.range.elements;
  at.operation = from.of.value;
  at.is_posted = true;
  at.has_result = from.has_result;
  if (wire::is_stream_lock(at.header.coll)) return take_our_own(from, at);
  at.terms = at.result_terms = terms_of(at.header, at.elements);
  if (from.is_kept || from.has_result || is_early(kind_of(at.header), from.root))
    at.kept = copy(from.data);
  else
    at.part = from.data;
  if (Posted* posted = find_operation(from.of.value);
      posted != nullptr && posted->last == kNone && !posted->ends_batch && (at.header.flags & wire::kFlagLast) != 0)
    posted->last = number;
}

// ---- numbers --------------------------------------------------------------------------------------------------

/// An operation that does not wait for the others may end before this number is safe, so its part is copied.
void Group::post_number(Posted& posted, const wire::AggHeader& header, std::uint32_t elements,
                        std::span<const std::byte> part) {
  const Number number = member_->posted();
  Slot& at = begin_slot(number);
  at.header = header;
  at.header.flags &= static_cast<std::uint16_t>(~wire::kFlagListening);
  at.header.payload_bytes = static_cast<std::uint32_t>(part.size());
  at.elements = elements;
  at.operation = posted.id.value;
  at.is_posted = true;
  at.terms = terms_of(at.header, elements);
  const recovery::Operation operation{kind_of(header), posted.cutting.operation.root, at.terms};
  if (!at.has_result && is_early(operation.kind, operation.root))
    at.kept = copy(part);
  else
    at.part = part;
  posted.cutting.sent += elements;
  if (posted.cutting.sent == posted.cutting.operation.count || has_no_data(header.coll)) {
    ++cut_;
    posted.ends_batch = posted.cutting.operation.streaming && lock_.streamed();
    if (!posted.ends_batch || !keeps(Rule::unlock_ends_operation)) posted.last = number;
  }
  member_->post(operation);
  settle(nullptr, nullptr);
  if (at.has_result) at.part = {};  // The operation may end now.
}

void Group::settle(const Data* turn, const Data* result) {
  const recovery::Epoch epoch_before = gathers_epoch_;
  gathers_epoch_ = member_->epoch();
  if (epoch_before != gathers_epoch_) gathered_.clear();
  for (const auto& each : member_->take_taken()) gather(each, turn);
  for (const auto& each : member_->take_events()) switch (each.what) {
      case Member::Event::What::answered: keep_result(each.number, result); break;
      case Member::Event::What::completed:
        if (gathers_epoch_ != 0) complete(each.number);
        break;
      case Member::Event::What::failed: fail(each.number); break;
      case Member::Event::What::left: has_left_ = true; break;
    }
  // The tree may have written less than the member knows.
  if (epoch_before == 0 && gathers_epoch_ != 0) {
    for (Number number = member_->oldest(); number < member_->done(); ++number) deliver(number);
    client_->release();
  }
  note_verdict();
  for (auto& each : member_->take_sends()) send(each);
  std::erase_if(gathered_, [&](const auto& each) { return each.second.is_sent; });
  forget();
  if (const char* why = broken_ != nullptr ? broken_ : member_->broken(); why != nullptr && !member_->is_gone()) {
    broken_ = why;
    member_->give_up();
    settle(nullptr, nullptr);
  }
}

/// The data come with the message, or this member is the root and has gathered them.
void Group::keep_result(Number number, const Data* result) {
  Slot& at = begin_slot(number);
  if (result != nullptr) {
    at.kept = copy(result->payload);
    at.result_terms = result->terms;
  } else {
    Gathered& from = result_of(number);
    from.is_sent = true;  // To this member, and in this call to all others that get it.
    at.kept = from.result;
    at.result_terms = from.terms;
  }
  at.has_result = true;
  at.part = {};
}

void Group::deliver(Number number) {
  const Slot& at = slot(number);
  Posted* posted = at.number == number && at.is_posted ? find_operation(at.operation) : nullptr;
  if (posted == nullptr || wire::is_stream_lock(at.header.coll)) return;
  const proto::Operation& operation = posted->cutting.operation;
  const bool is_own = !at.has_result && operation.coll == wire::Coll::bcast && at.header.payload_bytes != 0;
  if (!at.has_result && !is_own) return;
  // The others agreed on another operation than this member's.
  if (!is_own &&
      (at.result_terms != at.terms || at.kept.size() != std::size_t{at.elements} * posted->cutting.element)) {
    posted->status = Errc::verdict;
    differs_ = true;
    return;
  }
  write_kept(posted->cutting, at.header.first, at.elements, at.kept.data());
}

void Group::fail(Number number) {
  Slot& at = slot(number);
  if (at.number != number) return;
  // Numbers behind it may complete, and must be cut: without an answer no streaming operation would be.
  if (at.header.coll == wire::Coll::lock) lock_.answered(true);
  at.part = {};
  if (Posted* posted = at.is_posted ? find_operation(at.operation) : nullptr; posted != nullptr)
    posted->status = Errc::verdict;
}

void Group::gather(const Member::Taken& taken, const Data* turn) {
  if (taken.turn.what == Turn::What::skips) return;
  const bool is_own = taken.from == config_.rank;
  const Slot& own = slot(taken.turn.number);
  const Payload data = is_own ? data_of(own, taken.turn.what) : Payload{turn->payload};
  const wire::AggHeader& header = is_own ? own.header : turn->header;
  const bool is_whole = taken.turn.what == Turn::What::supplies || wire::has_one_source(header);
  if (data.bytes.empty() && !(taken.turn.what == Turn::What::supplies)) return;
  Gathered& at = gathered_[taken.turn.number];
  at.terms = is_own && own.has_result ? own.result_terms : taken.turn.operation.terms;
  if (is_whole) {
    at.result = data.owner ? BufferSlice(data.owner, 0, data.bytes.size()) : copy(data.bytes);
    at.has_result = true;
    return;
  }
  const std::uint32_t index =
      blocks_.index(static_cast<std::uint16_t>(taken.from), 1, {taken.from, 1}, config_.group_size);
  const auto kernel = reduce::kernel_for(header.op, header.dtype, header.tag_dtype);
  if (index == BlockMap::kNone || !kernel) {
    broken_ = "a part that cannot be added";
    return;
  }
  at.sums.add(blocks_, index, {taken.from, 1}, copy(data.bytes), config_.group_size, kernel);
}

Group::Gathered& Group::result_of(Number number) {
  Gathered& at = gathered_[number];
  if (at.has_result) return at;
  at.has_result = true;
  if (at.terms == 0) at.terms = slot(number).terms;  // Nobody had data.
  if (const std::uint32_t first = blocks_.at_or_none(0); first != BlockMap::kNone && at.sums.has(first)) {
    if (at.sums.sum(first).block.count == config_.group_size)
      at.result = std::move(at.sums.sum(first).data);
    else
      broken_ = "a sum without all parts";
  }
  return at;
}

void Group::send(Send& send) {
  if (send.to == config_.group_size) return;  // The tree has heard of it by the ClientGroup.
  const bool is_word =
      std::holds_alternative<Expelled>(send.message.body) || std::holds_alternative<GivesUp>(send.message.body);
  if (send.message.epoch < member_->epoch() && !is_word) return;  // Nobody would hear it.
  Data data;
  Payload payload;
  if (auto* turn = std::get_if<Turn>(&send.message.body)) {
    const Slot& at = slot(turn->number);
    data.header = at.header;
    data.elements = at.elements;
    payload = data_of(at, turn->what);
    if (turn->what == Turn::What::supplies && at.has_result) turn->operation.terms = at.result_terms;
    if (turn->what != Turn::What::skips) data.header.payload_bytes = static_cast<std::uint32_t>(payload.bytes.size());
  } else if (const auto* result = std::get_if<recovery::Result>(&send.message.body)) {
    Gathered& from = result_of(result->number);
    data.terms = from.terms;
    payload = {from.result.bytes(), from.result.buffer()};
    from.is_sent = true;
  }
  if (carries_word(send.message)) data.word = word_;
  encode(key(), send.message, data, head_);
  peers_.send(send.to, head_, payload);
}

void Group::forget() {
  for (; forgotten_ < member_->oldest(); ++forgotten_) slot(forgotten_) = {};
  if (!member_->is_gone()) return;
  for (Slot& each : slots_) each = {};
  gathered_.clear();
  client_->release();
}

}  // namespace sumac::proto::recovery
