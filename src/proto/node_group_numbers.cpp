// The numbers of a group are the hot path of a node: nothing here allocates, locks or logs.
#include <cstring>

#include "proto/guard.hpp"
#include "proto/node_group.hpp"
#include "wire/datagram.hpp"

namespace sumac::proto {
namespace {

using wire::AggHeader;
using wire::Coll;
using wire::Field;
using Kind = node_number::Action::Kind;

constexpr std::size_t kHeaderBytes = wire::kAggHeaderBytes;

struct Difference {
  Field field = Field::none;
  std::uint64_t mine = 0, theirs = 0;
};

/// Returns the first field, in the order of wire::Field, in which two contributions to one number differ.
Difference first_difference(const AggHeader& mine, const AggHeader& theirs) noexcept {
  const auto at = [](Field field, auto a, auto b) {
    return Difference{field, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)};
  };
  if (mine.coll != theirs.coll) return at(Field::coll, mine.coll, theirs.coll);
  if (mine.op != theirs.op) return at(Field::op, mine.op, theirs.op);
  if (mine.dtype != theirs.dtype) return at(Field::dtype, mine.dtype, theirs.dtype);
  if (mine.tag_dtype != theirs.tag_dtype) return at(Field::tag_dtype, mine.tag_dtype, theirs.tag_dtype);
  if (mine.count != theirs.count) return at(Field::count, mine.count, theirs.count);
  if (mine.first != theirs.first) return at(Field::first, mine.first, theirs.first);
  // All children ask the lock alike; only the answer from below may differ. Nor must all of them listen to a multicast, or
  // receive datagrams.
  const auto open = wire::kFlagListening | wire::kFlagDatagrams | (mine.coll == Coll::lock ? wire::kFlagDenied : 0);
  if ((mine.flags | open) != (theirs.flags | open)) return at(Field::flags, mine.flags, theirs.flags);
  if (mine.root != theirs.root) return at(Field::root, mine.root, theirs.root);
  if (mine.meaning != theirs.meaning) return at(Field::meaning, mine.meaning, theirs.meaning);
  // When the data come from one member, a second contribution with data is one too many. In a reduce the root's may have
  // none.
  const bool both_have = mine.payload_bytes != 0 && theirs.payload_bytes != 0;
  const bool sizes_differ = wire::has_one_source(mine) ? both_have
                                                       : mine.payload_bytes != theirs.payload_bytes &&
                                                             (both_have || mine.coll != Coll::reduce);
  if (sizes_differ) return at(Field::payload_bytes, mine.payload_bytes, theirs.payload_bytes);
  return {};
}

/// Returns the lowest rank that has contributed; kNoRank if none has.
std::uint32_t lowest_in(const node_number::State& state) noexcept {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.origin; }) return s.origin;
        return wire::kNoRank;
      },
      state);
}

/// Returns whether the number has been begun and some child has not contributed.
bool lacks_children(const node_number::State& state) noexcept {
  return std::holds_alternative<node_number::Collecting>(state) ||
         std::holds_alternative<node_number::Relaying>(state) || std::holds_alternative<node_number::Unclosed>(state);
}

/// Only what all have, and the same at each of them, goes on.
void note_datagrams(AggHeader& agreed, const AggHeader& another) noexcept {
  if ((another.flags & wire::kFlagDatagrams) != 0 && (agreed.flags & wire::kFlagDatagrams) != 0) {
    if (another.kind == wire::AggKind::contribute) agreed.closed = another.closed;
    return;
  }
  agreed.flags &= static_cast<std::uint16_t>(~wire::kFlagDatagrams);
  agreed.closed = {};
}

ChildSet contributed(const node_number::State& state) noexcept {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.in; }) return s.in;
        return ChildSet{};
      },
      state);
}

}  // namespace

/// A later number's missing children may themselves wait for the oldest one, which lacks somebody elsewhere.
void NodeGroup::note_missing(GroupView& view) const {
  Sequence number = settled();
  for (std::size_t i = 0; i < slots_.size(); ++i, number = seq_next(number)) {
    const Slot& at = slots_[number_of(number) & (slots_.size() - 1)];
    if (at.sequence != number || std::holds_alternative<node_number::Idle>(at.state)) return;
    if (std::holds_alternative<node_number::Answered>(at.state)) continue;
    if (!lacks_children(at.state)) return;
    const ChildSet in = contributed(at.state);
    view.missing_since = at.opened_at;
    for (std::uint32_t child = 0; child < view.children.size(); ++child) view.children[child].missing = !in.has(child);
    return;
  }
}

bool NodeGroup::decides(Coll coll) const noexcept {
  const bool group_root = expected_ == group_size_;
  // Leave goes on to the tree's root, which owns the id, even if the group never reached up to it.
  if (coll == Coll::leave && guard(Guard::leave_reaches_root, true)) return ctx_.config.root;
  return group_root;
}

inline NodeGroup::Flaw NodeGroup::check_contribution(const Child& child, const AggHeader& header) const noexcept {
  if ((header.members != child.members || header.origin != child.lowest_rank) && !is_ahead(child, header) &&
      (header.flags & wire::kFlagReproducible) == 0)
    return "contribute: origin and members differ from this connection's join";
  const bool streaming = (header.flags & wire::kFlagStreaming) != 0;
  if (streaming && joined_.stream_window == 0) return "contribute: streaming was not granted to this group";
  if (header.payload_bytes > (streaming ? joined_.chunk_bytes : joined_.payload_per_ost))
    return "contribute: the payload exceeds the group's grant";
  return nullptr;
}

NodeGroup::Flaw NodeGroup::contribute(Link& link, const AggHeader& header, BufferRef&& frame, Time now) {
  const std::uint16_t index = link.child_of[number_];
  if (index == kNoChild) {
    // The sender is a child node whose group stood only below it, or the message is a copy of a Leave that was
    // answered.
    if (header.coll == Coll::leave && over() && (link.role == wire::Role::node || !is<group_life::Absent>())) {
      pass_leave(link.id, header, now);
      return nullptr;
    }
    if (over() && !is<group_life::Absent>()) {
      answer_over(link.id, header);
      return nullptr;
    }
    if (guard(Guard::own_group, true)) return "contribute: this connection did not join the group";
    if (children_.empty()) return nullptr;
    link.child_of[number_] = 0;  // the fault that the guard prevents: the link is taken for a child
  }
  if (slots_.empty()) return is<group_life::Departing>() ? nullptr : "contribute: it came before the group stands";
  Child& child = children_[link.child_of[number_]];
  if (Flaw flaw = check_contribution(child, header); flaw != nullptr) return flaw;
  const bool is_partial = (header.flags & wire::kFlagReproducible) != 0;
  if (is_partial)
    if (Flaw flaw = check_partial(link.child_of[number_], header); flaw != nullptr) return flaw;
  ++child.messages;
  child.bytes += header.payload_bytes;

  if (const auto* verdict = group_life::verdict_of(life_);
      verdict != nullptr && guard(Guard::condemned, !seq_before(header.sequence, verdict->first_failed))) {
    if (header.coll != Coll::leave || header.sequence != verdict->first_failed) {
      ++ctx_.stats.resends;
      send_verdict(link.id, *verdict);
      return nullptr;
    }
    child.departed = true;
    live(group_life::LeaveAfterVerdict{all_left()}, now);
    return nullptr;
  }
  if (Flaw flaw = follow_datagrams(header, now); flaw != nullptr) return flaw;
  const std::uint32_t span = window(header);
  switch (place(header.sequence, span, kept_from_, settled())) {
    case Place::late:
      if (!guard(Guard::late_number, true)) break;
      ++ctx_.stats.late_copies;
      return nullptr;
    case Place::beyond:
      if (!guard(Guard::beyond_window, true)) break;
      return "contribute: the number lies beyond the window";
    case Place::live: break;
  }

  if ((header.flags & wire::kFlagStreaming) != 0 && !may_stream(header.sequence))
    return "contribute: it streams without the lock, and SUMAC_NODE_STREAMS groups stream already: raise it";
  Slot& at = slot(header.sequence);
  node_number::Contribution event{.child = link.child_of[number_], .members = header.members, .origin = header.origin};
  if (lacks_children(at.state)) event.differs = first_difference(at.agreed, header).field;
  if (is_partial) note_partial(at, event);
  if (prompt(header) && event.differs == Field::none)
    if (Flaw flaw = note_data(at, event.child, header, event); flaw != nullptr) {
      if (child.role == wire::Role::client) return flaw;
      // The members below a node choose their ranks and roots: two that both are the root are their group's fault and no
      // fault of the node, whose link other jobs use too.
      disagree({.field = Field::payload_bytes,
                .culprit = header.origin,
                .other = header.root,
                .culprit_value = header.payload_bytes,
                .other_value = 0},
               now);
      return nullptr;
    }
  const bool is_new = std::holds_alternative<node_number::Idle>(at.state);
  const bool was_open = is_new || lacks_children(at.state);
  if (is_new) at.opened_at = now;
  if (!seq_before(header.sequence, begun_)) begun_ = seq_next(header.sequence);
  if (header.coll == Coll::leave) child.leaving = true;
  const Outcome outcome = advance(at, event, event.child, &header, &frame, now);
  if (outcome != Outcome::nothing) {
    follow(outcome, at, header, now);
    return nullptr;
  }
  if (group_life::verdict_of(life_) != nullptr) return nullptr;
  const bool all_in = was_open && !lacks_children(at.state);
  if (all_in) move_on();
  send_closed_if_due();
  if (!all_in) return nullptr;
  ++child.came_last;
  child.kept_waiting += now - at.opened_at;
  ctx_.stats.slowest_child.add(now - at.opened_at);
  prove(header.sequence, span, now);
  return nullptr;
}

/// Takes the step of the group's life to which a number's step leads. The group may be over then, and `at` gone.
void NodeGroup::follow(Outcome outcome, const Slot& at, const AggHeader& header, Time now) {
  switch (outcome) {
    case Outcome::nothing: return;
    case Outcome::left: return live(leave_answered(header.sequence), now);
    case Outcome::parent_lost: return live(without_parent(), now);
    case Outcome::disagreement: break;
  }
  const Difference difference = first_difference(at.agreed, header);
  wire::TroubleBody body;
  body.field = difference.field;
  body.culprit = header.origin;
  body.other = lowest_in(at.state);
  if (body.other == wire::kNoRank) body.other = at.agreed.root;  // only the source has contributed, at another node
  body.culprit_value = difference.theirs;
  body.other_value = difference.mine;
  disagree(body, now);
}

void NodeGroup::disagree(wire::TroubleBody body, Time now) {
  body.reason = wire::TroubleReason::disagree;
  live(group_life::Trouble{{}, body, first_unanswered_}, now);
}

/// Takes one step of one number and performs its actions.
NodeGroup::Outcome NodeGroup::advance(Slot& at, const node_number::Event& event, std::uint32_t child,
                                      const AggHeader* header, BufferRef* frame, Time now) {
  const Coll coll = header != nullptr ? header->coll : at.agreed.coll;
  const node_number::Limits limits{child_set_, decides(coll), ctx_.config.limits.resend_after};
  auto [state, actions] = node_number::step(at.state, event, now, limits);
  at.state = state;
  for (const auto& action : actions) {
    switch (action.kind) {
      case Kind::take: take(at, child, *header, *frame); break;
      case Kind::add:
        at.agreed.flags |= header->flags & wire::kFlagDenied;
        note_datagrams(at.agreed, *header);
        at.listening |= (header->flags & wire::kFlagListening) != 0;
        if (wire::has_one_source(*header)) {
          if (header->payload_bytes != 0) keep_source(at, child, *header, *frame);
        } else if ((header->flags & wire::kFlagReproducible) != 0) {
          add_partial(at, *header, *frame);
        } else if (header->payload_bytes != 0) {
          accumulate(at, *header, *frame);
        }
        break;
      case Kind::send_up: {
        if (coll == Coll::lock && header != nullptr)
          try_lock(at);  // without a header the contribution is repeated: the slot is held already
        const Outcome outcome = send_number_up(at, now);
        if (outcome == Outcome::nothing) tell_below(at);
        return outcome;  // send_up is always the last action
      }
      case Kind::relay:
        relay(at, *header);
        tell_below(at);
        break;
      case Kind::send_rest: send_rest(at); break;
      case Kind::answer_all:
      case Kind::forward: {
        if (coll == Coll::leave) return Outcome::left;
        if ((at.agreed.flags & wire::kFlagReproducible) != 0) {
          // Either all ranks are in, so they have become one sum, or the parent has sent the result.
          if (action.kind == Kind::answer_all) at.data = std::move(partial(at).sum(blocks_.at(0)).data);
          partial(at).clear();
        }
        if (coll == Coll::lock) {
          if (action.kind == Kind::answer_all) try_lock(at);
          if (action.kind == Kind::forward) at.agreed.flags |= header->flags & wire::kFlagDenied;
          if ((at.agreed.flags & wire::kFlagDenied) != 0) end_stream();
        }
        if (coll == Coll::unlock) {
          end_stream();
          unlocked_at_ = at.sequence;
        }
        if (action.kind == Kind::forward) note_datagrams(at.agreed, *header);
        // An empty result means that the data came from below; then this node has kept them.
        if (action.kind == Kind::forward && (header->payload_bytes != 0 || at.source == kNoChild)) {
          at.data = BufferSlice(*frame, kHeaderBytes, header->payload_bytes);
          at.agreed.payload_bytes = header->payload_bytes;
        }
        answer_all(at, now);
        break;
      }
      case Kind::answer_one: {
        ++ctx_.stats.resends;
        answer(child, at, result_header(at));
        break;
      }
      case Kind::report: return Outcome::disagreement;
      case Kind::release:
        at.data.reset();
        at.source = kNoChild;
        at.kernel = {};
        if ((at.agreed.flags & wire::kFlagReproducible) != 0) partial(at).clear();
        break;
      case Kind::ignore: ++ctx_.stats.late_copies; break;
    }
  }
  return Outcome::nothing;
}

/// Keeps the data of the one member that contributes any, for all other members.
void NodeGroup::keep_source(Slot& at, std::uint32_t child, const AggHeader& header, BufferRef& frame) {
  at.source = child;
  at.agreed.payload_bytes = header.payload_bytes;
  const auto datagrams = at.agreed.flags & wire::kFlagDatagrams;
  at.agreed.flags = static_cast<std::uint16_t>((header.flags & ~wire::kFlagDatagrams) | datagrams);
  wire::say_listening(at.agreed, false);
  at.data = BufferSlice(std::move(frame), kHeaderBytes, header.payload_bytes);
}

void NodeGroup::take(Slot& at, std::uint32_t child, const AggHeader& header, BufferRef& frame) {
  at.sequence = header.sequence;
  at.agreed = header;
  at.listening = (header.flags & wire::kFlagListening) != 0;
  if (at.listening) wire::say_listening(at.agreed, false);  // the flag belongs to this hop, not to the number
  at.data = {};
  at.kernel = {};
  at.source = kNoChild;
  at.is_told = false;
  if (header.payload_bytes == 0) return;
  if (wire::has_one_source(header)) return keep_source(at, child, header, frame);
  at.kernel = reduce::kernel_for(header.op, header.dtype, header.tag_dtype);
  if ((header.flags & wire::kFlagReproducible) != 0) return add_partial(at, header, frame);
  at.data = BufferSlice(own(std::move(frame)), kHeaderBytes, header.payload_bytes);
}

void NodeGroup::accumulate(Slot& at, const AggHeader& header, BufferRef& frame) {
  if (at.kernel)
    return at.kernel(at.data.data(), frame.data() + kHeaderBytes, header.payload_bytes / at.kernel.element_bytes());
  // The root of a reduce came first, without data.
  at.agreed.payload_bytes = header.payload_bytes;
  at.kernel = reduce::kernel_for(header.op, header.dtype, header.tag_dtype);
  at.data = BufferSlice(own(std::move(frame)), kHeaderBytes, header.payload_bytes);
}

/// Returns a buffer that may be added into.
BufferRef NodeGroup::own(BufferRef&& frame) {
  if (frame.unique()) return std::move(frame);
  // The frame has another holder (never so with our transports): adding into it would change that holder's data.
  BufferRef copy = ctx_.copies.acquire(frame.size());
  std::memcpy(copy.data(), frame.data(), frame.size());
  ++ctx_.stats.buffer_copies;
  return copy;
}

// ---- reproducible mode: partial sums of the canonical tree ------------------------------------------------

/// Checks that this child may give this block, and has always given it like this.
NodeGroup::Flaw NodeGroup::check_partial(std::uint16_t index, const AggHeader& header) {
  const Child& child = children_[index];
  if (!reproducible_) return "contribute: it is reproducible, but not all members asked for that when they joined";
  const Block block{header.origin, header.members};
  if (child.members == 1 && block != Block{child.lowest_rank, 1})
    return "contribute: origin and members differ from this connection's join";
  if (block.count > child.members || block.first < child.lowest_rank || !is_canonical(block, group_size_))
    return "contribute: the partial sum's ranks are no block of the canonical tree, or not this child's";
  block_ = blocks_.index(index, child.members, block, group_size_);
  if (block_ == BlockMap::kNone) return "contribute: the partial sum has other ranks than before, or another child's";
  if (partials_.empty()) partials_.resize(slots_.size());
  return nullptr;
}

void NodeGroup::note_partial(const Slot& at, node_number::Contribution& event) const {
  const auto* collecting = std::get_if<node_number::Collecting>(&at.state);
  event.partial = true;
  event.repeated = collecting != nullptr && partial(at).has(block_);
  event.last = (collecting != nullptr ? collecting->members : 0) + event.members == members_;
}

void NodeGroup::add_partial(Slot& at, const AggHeader& header, BufferRef& frame) {
  PartialSums& sums = partial(at);
  sums.add(blocks_, block_, {header.origin, header.members},
           BufferSlice(own(std::move(frame)), kHeaderBytes, header.payload_bytes), group_size_, at.kernel);
}

void NodeGroup::send_partials_up(const Slot& at, const AggHeader& header) {
  if (!ctx_.parent) return;
  AggHeader h = header;
  partial(at).each([&](const PartialSums::Sum& sum) {
    h.origin = sum.block.first;
    h.members = sum.block.count;
    ctx_.data(ctx_.parent, h, sum.data);
  });
}

NodeGroup::Outcome NodeGroup::send_number_up(Slot& at, Time now) {
  const auto& waiting = std::get<node_number::AwaitingParent>(at.state);
  AggHeader h = at.agreed;
  h.kind = wire::AggKind::contribute;
  h.members = waiting.members;
  h.origin = waiting.origin;
  if (at.listening) wire::say_listening(h, true);
  if (expected_ == group_size_) {  // A Leave, for nodes that never knew the group.
    h.flags &= static_cast<std::uint16_t>(~wire::kFlagDatagrams);
    h.closed = {};
  }
  if (h.coll == Coll::leave && ctx_.parent_lost) return Outcome::parent_lost;
  const bool is_partial = (h.flags & wire::kFlagReproducible) != 0;
  if (is_partial) {
    send_partials_up(at, h);
  } else if (ctx_.parent) {
    ctx_.data(ctx_.parent, h, at.data);
  }
  ctx_.expect_answer(now);
  // On a reliable hop the data are never asked for again: the parent's loss ends the group. The data of a single member
  // are kept, since they do not come back.
  if (ctx_.config.limits.resend_after.count() != 0) return Outcome::nothing;
  if (at.source == kNoChild) at.data.reset();
  if (is_partial) partial(at).clear();
  return Outcome::nothing;
}

/// All children have asked: unless one was denied below, the group takes a stream slot here, and returns it if one is
/// denied above.
void NodeGroup::try_lock(Slot& at) {
  if ((at.agreed.flags & wire::kFlagDenied) != 0 || streams_) return;
  streams_ = ctx_.take_stream();
  if (!streams_) at.agreed.flags |= wire::kFlagDenied;
}

/// A group that streams holds a stream slot. A group whose members were configured not to take the lock gets one with
/// its first streaming number, if one is free, and keeps it until it ends.
bool NodeGroup::may_stream(Sequence sequence) noexcept {
  if (streams_ || (unlocked_at_ && seq_before(sequence, *unlocked_at_))) return true;
  return streams_ = ctx_.take_stream();
}

void NodeGroup::end_stream() noexcept {
  if (std::exchange(streams_, false)) --ctx_.stats.streams_held;
}

/// Sends the multicast before the links' copies, so that members that listen have the result while the others are still
/// being served.
void NodeGroup::multicast(const Slot& at, const AggHeader& header) {
  if (invited_ && wire::fits_multicast(header, header.payload_bytes) && !ctx_.multicast(*invited_, header, at.data))
    invited_.reset();
}

/// at.data is the result: it goes to all children and is kept. After reordering, numbers may be answered out of order.
void NodeGroup::answer_all(Slot& at, Time now) {
  move_on();
  const AggHeader h = result_header(at);
  if (at.listening && expected_ == group_size_) multicast(at, h);
  if (!at.is_told) tell_children(at, h);
  ctx_.stats.operation.add(now - at.opened_at);
  if (expected_ == group_size_) {
    ++answered_;
    ++ctx_.stats.answered;
    if ((h.flags & wire::kFlagLast) != 0) {
      const bool streaming = (h.flags & wire::kFlagStreaming) != 0;
      ++(streaming ? streaming_operations_ : operations_);
      ++(streaming ? ctx_.stats.streaming_operations : ctx_.stats.operations);
      if (Job* job = ctx_.jobs.find(job_id_); job != nullptr)
        ++(streaming ? job->streaming_operations : job->operations);
    }
  }
  if (!guard(Guard::kept_until_proof, true)) advance(at, node_number::Proven{}, 0, nullptr, nullptr, now);
}

AggHeader NodeGroup::result_header(const Slot& at) const noexcept {
  AggHeader h = at.agreed;
  h.kind = wire::AggKind::result;
  h.origin = wire::kNoRank;
  h.members = 0;
  h.closed = closed_;
  return h;
}

void NodeGroup::tell_children(const Slot& at, const AggHeader& header) {
  bool has_told_all = true;
  for (std::uint32_t child = 0; child < children_.size(); ++child) {
    const bool is_told = gets_result(child, at);
    has_told_all = has_told_all && is_told;
    if (!is_told || children_[child].closed) continue;
    children_[child].told = closed_;
    answer(child, at, header);
  }
  if (has_told_all) told_ = closed_;
}

/// Every child has contributed `sequence`, so each has all results up to sequence - window.
void NodeGroup::prove(Sequence sequence, std::uint32_t window, Time now) {
  const Sequence end = seq_previous(sequence, window - 1);
  while (seq_before(kept_from_, end)) {
    Slot& oldest = slot(kept_from_);
    if (oldest.sequence != kept_from_ || !std::holds_alternative<node_number::Answered>(oldest.state)) return;
    advance(oldest, node_number::Proven{}, 0, nullptr, nullptr, now);
    kept_from_ = seq_next(kept_from_);
  }
}

bool NodeGroup::gets_result(std::uint32_t child, const Slot& at) const noexcept {
  if (at.root_child == kNoChild || !is_for_root_alone(at.agreed) || !prompt(at.agreed)) return true;
  return child == at.root_child;
}

/// The child that the data came from gets an empty result, and so do those that the root of a reduce cannot be below.
bool NodeGroup::gets_data(std::uint32_t child, const Slot& at) const noexcept {
  if (at.agreed.coll == Coll::reduce && prompt(at.agreed) && at.root_child != kNoChild) return child == at.root_child;
  return child != at.source;
}

/// Sends the result to one child.
void NodeGroup::answer(std::uint32_t child, const Slot& at, AggHeader header) {
  if (gets_data(child, at)) return ctx_.data(children_[child].link, header, at.data);
  header.payload_bytes = 0;
  ctx_.data(children_[child].link, header, {});
}

NodeGroup::Flaw NodeGroup::result(const AggHeader& header, const BufferRef& frame, Time now) {
  if (header.coll == Coll::leave &&
      (is<group_life::Passing>() || is<group_life::Departing>() || is<group_life::Deserted>())) {
    end_by_answer(now);
    return nullptr;
  }
  const auto* verdict = group_life::verdict_of(life_);
  if (slots_.empty() || (verdict != nullptr && !seq_before(header.sequence, verdict->first_failed))) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (!seq_before(header.sequence, begun_)) begun_ = seq_next(header.sequence);
  if (seq_before(closed_, header.closed)) closed_ = header.closed;
  // The window follows the closed count, so numbers that end by it must not lag behind. This number has its own result.
  end_unanswered(now, header.sequence);
  skip_closed(seq_before(closed_, header.sequence) ? closed_ : header.sequence, now);
  Slot& at = slot(header.sequence);
  if (prompt(header) && std::holds_alternative<node_number::Idle>(at.state) &&
      !seq_before(header.sequence, first_unanswered_)) {
    if (place(header.sequence, joined_.osts, kept_from_, settled()) == Place::beyond)
      return "result: the number lies beyond the window";
    begin_ahead(at, header, now);
  }
  // The sum of a reduce has all data in: a parent that knows it before this node has passed its own up has made it up.
  const bool may_lead =
      prompt(header) &&
      (std::holds_alternative<node_number::Idle>(at.state) ||
       (std::holds_alternative<node_number::Collecting>(at.state) && (header.coll == Coll::bcast || at.given.empty())));
  const bool waits = std::holds_alternative<node_number::AwaitingParent>(at.state) ||
                     std::holds_alternative<node_number::Relaying>(at.state) || may_lead;
  if (guard(Guard::result_expected, at.sequence != header.sequence) || !waits) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (const Difference difference = first_difference(at.agreed, header); difference.field != Field::none) {
    if (!prompt(header)) return "result: it does not match the contributed operation";
    // The number was answered for members elsewhere that called something else than those below this node.
    const std::uint32_t lowest = lowest_in(at.state);
    disagree({.field = difference.field,
              .culprit = lowest == wire::kNoRank ? at.agreed.origin : lowest,
              .other = header.root,
              .culprit_value = difference.mine,
              .other_value = difference.theirs},
             now);
    return nullptr;
  }
  if (wire::has_one_source(header) && header.count != 0 && (header.payload_bytes == 0) == (at.source == kNoChild))
    return "result: it has data that came from below, or lacks data that came from elsewhere";
  BufferRef kept = frame;
  const Outcome outcome = advance(at, node_number::ParentResult{prompt(header)}, 0, &header, &kept, now);
  if (outcome != Outcome::nothing) {
    follow(outcome, at, header, now);
    return nullptr;
  }
  end_unanswered(now);
  send_closed_if_due();
  return nullptr;
}

}  // namespace sumac::proto
