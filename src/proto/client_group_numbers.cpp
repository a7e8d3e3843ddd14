// Operations are cut into the numbers of a member's group, and results are delivered in their order. This is the hot
// path of a member: nothing here allocates, locks or logs.
#include <cstring>
#include <functional>
#include <utility>

#include "proto/client_group.hpp"
#include "proto/guard.hpp"
#include "proto/resend.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using wire::Coll;
using Heard = ClientGroup::Heard;

namespace {

/// Returns whether this member contributed the only data of the number: such data do not come back to it.
bool is_source(const AggHeader& asked) noexcept { return wire::has_one_source(asked) && asked.payload_bytes != 0; }

bool is_apart(const Operation& operation) noexcept {
  const std::less<const std::byte*> before;
  return !before(operation.dst.data(), operation.src.data() + operation.src.size()) ||
         !before(operation.src.data(), operation.dst.data() + operation.dst.size());
}

}  // namespace

tl::expected<OpId, Errc> ClientGroup::post(const Operation& operation, Time now) {
  if (!takes_operations()) return tl::unexpected(why_not());
  if (operation.streaming && config_.outlives && shape_.stream_window == 0) return post(unstreamed(operation), now);
  const Errc legal = check(operation, config_.group_size, shape_);
  if (legal != Errc::ok) return tl::unexpected(legal);
  if (tail_ - head_ >= kOperationsMax) return tl::unexpected(Errc::again);
  Record& record = records_[tail_ % kOperationsMax];
  record = Record{};
  record.operation = bounded(operation);
  plan(record, shape_);
  if (operation.coll == Coll::reduce && operation.root == config_.rank)
    record.kernel = reduce::kernel_for(operation.op, operation.dtype, operation.tag_dtype);
  const OpId id{tail_++};
  proceed(now);
  return id;
}

std::optional<Completion> ClientGroup::next_completion() {
  if (head_ == finished_) return std::nullopt;
  const Record& record = records_[head_ % kOperationsMax];
  return Completion{OpId{head_++}, record.operation.token, record.status, record.operation.streaming,
                    false,         record.by_hop};
}

void ClientGroup::pump(Time now) {
  while (!verdict_ && !ring_.empty()) {
    if (const Coll due = lock_.due(); due != Coll::none) {
      if (!has_links()) return await_links(now);
      if (!room(shape_.osts) || !has_drained_datagrams()) return;
      lock_.sent();
      send_our_own(due, now);
    }
    if (cut_ == tail_) return;
    Record& record = records_[cut_ % kOperationsMax];
    if (record.is_let_go) return;
    if (record.sent == 0 && record.operation.streaming) {
      const auto way = lock_.next_operation();
      if (way == LockKeeper::Way::without) record.status = go_without_lock(record, shape_);
      if (way == LockKeeper::Way::wait && lock_.due() == Coll::none) return;  // the lock's answer decides
      if (way == LockKeeper::Way::wait) continue;
    }
    if (!has_links() && !goes_as_datagram(record)) return await_links(now);
    if (!may_send(record)) return;
    if (!record.operation.streaming && record.in_flight >= config_.pipeline_depth) return;
    const FragmentRange range = next_fragment(record);
    if (!is_ready(record, range)) return;
    const bool is_datagram = goes_as_datagram(record);
    const Sequence number = std::exchange(next_, seq_next(next_));
    ++sent_;
    Entry& entry = this->entry(number);
    const BufferRef ahead = std::exchange(entry.stash, {});
    entry.state = member_number::Waiting{};
    entry.record = cut_;
    entry.is_ours = entry.all_take_datagrams = false;
    entry.is_datagram = is_datagram;
    entry.elements = range.elements;
    entry.element = record.element;
    entry.root = record.operation.root;
    entry.kept.reset();
    entry.header = fragment(record, number, range);
    if (is_datagram) wire::say_listening(entry.header, false);
    record.sent += range.elements;
    record.by_hop = is_datagram;
    ++record.in_flight;
    if (record.sent == record.operation.count) {
      ++cut_;
      record.ends_batch = record.operation.streaming && lock_.streamed();
    }
    if (!is_datagram && std::exchange(run_from_, std::nullopt)) by_link_from_ = number;
    advance(entry, number, member_number::Room{!is_over_when_sent(entry), number == done_}, nullptr, now);
    if (ahead) {
      AggHeader header;
      wire::load(header, ahead.data());
      static_cast<void>(result_of(number, header, ahead, now));  // a mismatch brings the verdict
    }
    if (is_datagram) takes_datagram(entry, number, now);  // Its result may have come before the call.
    take_turns(now);
  }
}

/// Decides whether the number is complete when it is sent; then its data are copied, so that the user's buffer is free.
bool ClientGroup::is_over_when_sent(Entry& at) {
  const Record& record = record_of(at);
  if (needs_result(record, at.header)) return false;
  const auto data = data_of(at).bytes;
  if (data.empty()) return true;
  at.copy = copies_.acquire(data.size());
  if (!at.copy) return false;  // without memory it waits like the others
  std::memcpy(at.copy.data(), data.data(), data.size());
  return true;
}

/// A bcast's source and a member that gets nothing of a reduce need nobody. That holds for operations of one fragment
/// only: larger ones are not copied.
bool ClientGroup::needs_result(const Record& record, const AggHeader& header) const noexcept {
  constexpr std::uint16_t kWhole = wire::kFlagFirst | wire::kFlagLast;
  if (config_.resend_after.count() != 0 || (header.flags & (kWhole | wire::kFlagStreaming)) != kWhole) return true;
  if (header.coll == Coll::bcast) return !is_source(header);
  return header.coll != Coll::reduce || record.operation.keep.size() != 0;
}

/// Returns whether one more number may be sent. The node infers from our numbers which results we have, and it counts
/// only what it sent on our link. Numbers that others have not contributed count too.
bool ClientGroup::room(std::uint32_t window) const noexcept {
  Sequence from = guard(Guard::owed_window, true) ? owed_ : done_;
  if (guard(Guard::closed_window, seq_before(closed_, from))) from = closed_;
  const std::uint32_t held = seq_count(from, next_);
  return !guard(Guard::member_window, held >= window) && seq_count(owed_, next_) < ring_.size();
}

AggHeader ClientGroup::contribution(Coll coll, Sequence number) const noexcept {
  AggHeader h = head(AggKind::contribute);
  h.sequence = number;
  h.coll = coll;
  h.origin = config_.rank;
  h.members = 1;
  if (datagram_trial_ == Trial::passed) {
    h.flags = wire::kFlagDatagrams;
    h.closed = run_from_ ? number : by_link_from_;
  }
  return h;
}

AggHeader ClientGroup::fragment(const Record& record, Sequence number, const FragmentRange& range) const noexcept {
  AggHeader h = contribution(record.operation.coll, number);
  describe_fragment(record, range, h);
  if (adds_its_part(h)) h.payload_bytes = 0;
  if (trial_.listening() && listens_to(record, range, h) && !prompt(h) && needs_result(record, h))
    h.flags |= wire::kFlagListening;
  return h;
}

// ---- the streaming lock -----------------------------------------------------------------------------------

Errc ClientGroup::ask_for_lock(Time now) {
  if (!takes_operations()) return why_not();
  if (shape_.stream_window == 0) return Errc::unsupported;
  lock_.ask();
  proceed(now);
  return Errc::ok;
}

void ClientGroup::send_our_own(Coll coll, Time now) {
  const Sequence number = std::exchange(next_, seq_next(next_));
  ++sent_;
  Entry& entry = this->entry(number) =
      Entry{.state = member_number::Waiting{}, .record = coll == Coll::unlock ? cut_ - 1 : cut_, .is_ours = true};
  entry.header = contribution(coll, number);
  entry.header.flags |= wire::kFlagFirst | wire::kFlagLast;
  if (std::exchange(run_from_, std::nullopt)) by_link_from_ = number;
  advance(entry, number, member_number::Room{}, nullptr, now);
}

// ---- results ------------------------------------------------------------------------------------------------

Errc ClientGroup::result(const AggHeader& header, const BufferRef& frame, Time now) {
  if (header.coll == Coll::leave) {
    live(membership::LeaveAnswered{}, now);
    way_.reset();
    return Errc::ok;
  }
  const Sequence number = header.sequence;
  if (ring_.empty() || guard(Guard::member_late, seq_before(number, owed_))) return Errc::ok;
  if (note_closed(header.closed, now) != Errc::ok) return Errc::invalid;
  if (guard(Guard::member_late, seq_before(number, done_))) {
    const Errc taken = result_of(number, header, {}, now);  // the number needed no result of the link
    follow(now);
    return taken;
  }
  if (verdict_ && !seq_before(number, verdict_->first_failed)) return Errc::ok;  // the number completes nowhere
  if (!seq_before(number, next_)) {
    const Errc kept = keep_ahead(header, frame);
    proceed(now);
    return kept;
  }
  const Errc taken = result_of(number, header, frame, now);
  follow(now);
  return taken;
}

Errc ClientGroup::result_of(Sequence number, const AggHeader& header, const BufferRef& frame, Time now) {
  Entry& entry = this->entry(number);
  // A prompt number may have been answered for a call that is not this member's: the verdict on that is on its way.
  if (!answers(entry, header)) return prompt(header) ? Errc::ok : Errc::invalid;
  if (entry.header.coll == Coll::lock) entry.header.flags = header.flags;
  entry.all_take_datagrams = (header.flags & wire::kFlagDatagrams) != 0 && !prompt(header);
  return advance(entry, number, member_number::Result{number == done_}, &frame, now) ? Errc::ok : Errc::invalid;
}

/// The result of a prompt number has come before this member's call: it is kept until then.
Errc ClientGroup::keep_ahead(const AggHeader& header, const BufferRef& frame) {
  if (!prompt(header) || !seq_before(header.sequence, seq_next(closed_, shape_.osts))) return Errc::invalid;
  if (guard(Guard::kept_ahead, std::holds_alternative<membership::Standing>(life_)))
    entry(header.sequence).stash = frame;
  return Errc::ok;
}

Errc ClientGroup::note_closed(Sequence closed, Time now) {
  if (verdict_) return Errc::ok;                        // no more numbers are sent
  if (seq_before(next_, closed)) return Errc::invalid;  // this member has not contributed so far
  if (!seq_before(closed_, closed)) return Errc::ok;
  closed_ = closed;
  for (Sequence number = owed_; seq_before(number, closed_); number = seq_next(number))
    if (Entry& at = entry(number); prompt(at.header) && is_for_root_alone(at.header) && !adds_its_part(at.header))
      advance(at, number, member_number::Closed{}, nullptr, now);
  take_turns(now);
  return Errc::ok;
}

/// Nothing else may complete this number while its data are landing, since the memory would belong to the user again.
/// On the link only a copy of this very result could do so, and it comes later; a multicast can come at any time.
std::span<std::byte> ClientGroup::place(const AggHeader& header) noexcept {
  if (header.kind != AggKind::result) return {};
  const Sequence number = header.sequence;
  if (number != done_ || number == next_) return {};
  if (verdict_ && !seq_before(number, verdict_->first_failed)) return {};
  const Entry& at = entry(number);
  if (!std::holds_alternative<member_number::Sent>(at.state) || (at.header.flags & wire::kFlagListening) != 0)
    return {};
  if (adds_its_part(at.header)) return {};  // the memory may still hold that part
  const Record& record = record_of(at);
  const Operation& operation = record.operation;
  if (retains_ && !operation.streaming) return {};  // its frame is kept
  if (!answers(at, header) || header.payload_bytes == 0) return {};
  if (record.is_let_go) return {};
  // In place it would lie on the part, which is needed again if the tree is lost meanwhile.
  if (retains_ && !(stays_with_user(record, at) && is_apart(operation))) return {};
  if (header.first < operation.keep.from || header.first + at.elements > operation.keep.to) return {};
  return operation.dst.subspan((header.first - operation.keep.from) * record.element, header.payload_bytes);
}

std::span<std::byte> ClientGroup::expect(AggHeader& header) noexcept {
  if (done_ == next_) return {};
  const Entry& at = entry(done_);
  if (at.is_ours || prompt(at.header)) return {};  // the closed count in its result is not known
  const Operation& operation = record_of(at).operation;
  if (!is_apart(operation)) return {};
  header = at.header;
  header.kind = AggKind::result;
  header.origin = wire::kNoRank;
  header.members = 0;
  header.payload_bytes = result_bytes(at);
  header.closed = seq_next(header.sequence);
  return place(header);
}

Heard ClientGroup::on_multicast(const AggHeader& header, const BufferRef& frame, Time now) {
  if (guard(Guard::multicast_life, header.group_id != config_.group_id)) return Heard::discarded;
  if (header.tree_id != config_.tree_id || ring_.empty()) return Heard::discarded;
  const Sequence number = header.sequence;
  if (seq_before(number, done_)) return Heard::late;
  if (!seq_before(number, next_)) return Heard::discarded;
  if (verdict_ && !seq_before(number, verdict_->first_failed)) return Heard::discarded;
  Entry& entry = this->entry(number);
  // its own data came as a datagram: late
  if (!answers(entry, header)) return is_source(entry.header) ? Heard::late : Heard::discarded;
  if (!std::holds_alternative<member_number::Sent>(entry.state)) return Heard::late;
  entry.all_take_datagrams = (header.flags & wire::kFlagDatagrams) != 0 && !prompt(header);
  advance(entry, number, member_number::Early{number == done_}, &frame, now);
  follow(now);
  return Heard::taken;
}

/// Returns whether the header answers the contribution. The flags for listening and for a denied lock may differ, since
/// they are not part of the question.
bool ClientGroup::answers(const Entry& entry, const AggHeader& header) const noexcept {
  const AggHeader& asked = entry.header;
  // The result of a prompt reduce has data on the way to its root, and may have them elsewhere.
  const bool has_no_use =
      asked.coll == Coll::reduce && prompt(asked) && !adds_its_part(asked) && header.payload_bytes == 0;
  const auto open = wire::kFlagListening | wire::kFlagDatagrams | (asked.coll == Coll::lock ? wire::kFlagDenied : 0);
  return header.coll == asked.coll && header.op == asked.op && header.dtype == asked.dtype &&
         header.tag_dtype == asked.tag_dtype && header.meaning == asked.meaning && header.count == asked.count &&
         header.first == asked.first && (header.flags | open) == (asked.flags | open) && header.root == asked.root &&
         (header.payload_bytes == result_bytes(entry) || has_no_use);
}

std::uint32_t ClientGroup::result_bytes(const Entry& at) const noexcept {
  if (at.is_ours || is_source(at.header)) return 0;
  return at.elements * at.element;
}

/// Completes the later numbers that a result makes complete, and moves the window.
void ClientGroup::follow(Time now) {
  take_turns(now);
  settle(now);
  proceed(now);
}

void ClientGroup::proceed(Time now) {
  pump(now);
  drain(now);
}

/// Returns whether a link's copy of a multicast result is still to come.
bool ClientGroup::owes_copies() const noexcept {
  for (Sequence number = owed_; number != done_; number = seq_next(number))
    if (const Entry& at = entry(number);
        (at.header.flags & wire::kFlagListening) != 0 && !std::holds_alternative<member_number::Complete>(at.state))
      return true;
  return false;
}

void ClientGroup::take_turns(Time now) {
  while (done_ != next_ && std::holds_alternative<member_number::Stashed>(entry(done_).state)) {
    const Sequence turn = done_;
    advance(entry(turn), turn, member_number::Turn{}, nullptr, now);
  }
  while (owed_ != done_ && std::holds_alternative<member_number::Complete>(entry(owed_).state)) owed_ = seq_next(owed_);
}

void ClientGroup::fail_from(Sequence number, Errc status, Time now) {
  for (; number != next_; number = seq_next(number))
    advance(entry(number), number, member_number::Condemned{}, nullptr, now);
  for (; finished_ != tail_; ++finished_) records_[finished_ % kOperationsMax].status = status;
  cut_ = tail_;
  sent_ -= seq_count(done_, next_);
  next_ = owed_ = done_;
  lock_.over();
}

void ClientGroup::tick_numbers(Time now) {
  for (Sequence number = owed_; number != next_; number = seq_next(number)) {
    Entry& entry = this->entry(number);
    if (now >= resend_at(entry.state)) advance(entry, number, member_number::Timeout{}, nullptr, now);
    due_ = std::min(due_, resend_at(entry.state));
  }
}

// ---- one number ---------------------------------------------------------------------------------------------

/// Returns false when the node broke a rule.
bool ClientGroup::advance(Entry& at, Sequence number, const member_number::Event& event, const BufferRef* frame,
                          Time now) {
  const auto [state, action] = member_number::step(at.state, event, now, {config_.resend_after});
  at.state = state;
  if ((at.header.flags & wire::kFlagListening) != 0 && std::holds_alternative<member_number::Result>(event) &&
      action != member_number::Action::ignore && trial_.link_copy(action == member_number::Action::settle))
    if (Multicast* all = outbox_.multicast(); all != nullptr) all->stopped_listening(leaf_, config_.group_id);
  switch (action) {
    case member_number::Action::send: send(at, now); return true;
    case member_number::Action::send_and_deliver:
      send(at, now);
      deliver(at, number, {});
      return true;
    case member_number::Action::stash: at.stash = *frame; return true;
    case member_number::Action::settle: return true;
    case member_number::Action::ask_again: ask_again(at, now); return true;
    case member_number::Action::deliver: deliver(at, number, frame != nullptr ? *frame : at.stash); return true;
    case member_number::Action::forget: at.stash.reset(); return true;
    case member_number::Action::offence: return false;
    case member_number::Action::ignore: return true;
  }
  return true;
}

Payload ClientGroup::data_of(const Entry& at) {
  if (at.header.payload_bytes == 0) return {};
  const Record& record = record_of(at);
  const auto from = (at.header.first - std::min(at.header.first, record.operation.give.from)) * record.element;
  return {record.operation.src.subspan(from, at.header.payload_bytes)};
}

void ClientGroup::send(Entry& at, Time now) {
  if (at.is_datagram) return contribute_datagram(at, now);
  if (prompt(at.header) && at.header.payload_bytes == 0 && !at.copy)
    return outbox_.send_later(leaf_, at.header, held_back_most(shape_.osts));
  BufferRef copy = std::exchange(at.copy, {});
  if (copy && retains_) at.kept = copy;
  if (copy)
    outbox_.send_in_row(leaf_, at.header, Payload{copy.bytes(), copy});
  else
    outbox_.send(leaf_, at.header, data_of(at));
  due_ = std::min(due_, resend_time(now, config_.resend_after));
}

/// The memory belongs to the user again, but its content was added long ago: the node reads only the number, so zeros
/// do.
void ClientGroup::ask_again(const Entry& at, Time now) {
  static constexpr std::array<std::byte, wire::kMulticastPayloadMax> kZeros{};
  outbox_.send(leaf_, at.header, Payload{std::span(kZeros).first(at.header.payload_bytes)});
  due_ = std::min(due_, resend_time(now, config_.resend_after));
}

void ClientGroup::deliver(Entry& at, Sequence number, const BufferRef& frame) {
  done_ = seq_next(number);
  // A member that contributes the number a window behind this one has this result.
  if (at.all_take_datagrams && !way_from_) way_from_ = sent_ - seq_count(number, next_) + shape_.window();
  if (at.is_ours) {
    at.stash.reset();
    if (at.header.coll == Coll::unlock) ++finished_;
    if (at.header.coll == Coll::lock) lock_.answered((at.header.flags & wire::kFlagDenied) != 0);
    return;
  }
  Record& record = record_of(at);
  const Operation& operation = record.operation;
  const std::uint64_t from = std::max(at.header.first, operation.keep.from);
  const std::uint64_t to = std::min(at.header.first + at.elements, operation.keep.to);
  const bool is_ours = result_bytes(at) == 0;
  if (!record.is_let_go && from < to && (is_ours || frame)) {  // without a frame the data lie there already
    // A member's own data did not travel back: they are still in its source buffer.
    const std::byte* source = is_ours
                                  ? operation.src.data() + (from - operation.give.from) * record.element
                                  : frame.data() + wire::kAggHeaderBytes + (from - at.header.first) * record.element;
    std::byte* target = operation.dst.data() + (from - operation.keep.from) * record.element;
    if (adds_its_part(at.header))
      record.kernel.combine(target, operation.src.data() + (from - operation.give.from) * record.element, source,
                            to - from);
    else if (source != target)
      std::memmove(target, source, (to - from) * record.element);
  }
  if (retains_ && !(operation.streaming && stays_with_user(record, at))) keep(at, frame);
  at.stash.reset();
  --record.in_flight;
  // Operations take numbers one after the other, so the one whose last number this is, is the oldest.
  if ((at.header.flags & wire::kFlagLast) != 0 && !record.ends_batch) ++finished_;
}

}  // namespace sumac::proto
