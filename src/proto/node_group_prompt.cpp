// Prompt numbers at a node, and the closed count (prompt.hpp). This is part of the hot path: nothing here allocates, locks
// or logs.
#include "proto/guard.hpp"
#include "proto/node_group.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::Coll;

/// A child node sends the data of a prompt number before all its members are in: those of a bcast's source, or those of
/// all members but the root of a reduce.
bool NodeGroup::is_ahead(const Child& child, const AggHeader& header) const noexcept {
  if (child.role != wire::Role::node || header.payload_bytes == 0 || header.members >= child.members || !prompt(header))
    return false;
  return header.origin >= child.lowest_rank && (header.coll == Coll::bcast || header.members + 1 == child.members);
}

/// Returns the child that is the root of this reduce, or has no other member below it.
std::uint32_t NodeGroup::child_of_root(const AggHeader& header) const noexcept {
  for (std::uint32_t child = 0; child < children_.size(); ++child)
    if (children_[child].members == 1 && children_[child].lowest_rank == header.root) return child;
  return kNoChild;
}

/// Notes which data of a prompt number a contribution brings, before the number's step.
NodeGroup::Flaw NodeGroup::note_data(Slot& at, std::uint32_t child, const AggHeader& header,
                                     node_number::Contribution& event) {
  event.ahead = header.members < children_[child].members;
  const bool has_data = header.payload_bytes != 0;
  if (header.coll == Coll::bcast) {
    event.completes = has_data;
    return nullptr;
  }
  if (std::holds_alternative<node_number::Answered>(at.state) ||
      std::holds_alternative<node_number::AwaitingParent>(at.state))
    return nullptr;
  if (std::holds_alternative<node_number::Idle>(at.state)) {
    at.given = {};
    at.root_child = child_of_root(header);
  }
  if (event.ahead && at.root_child != kNoChild) return "contribute: a reduce has one root";
  const bool is_root = child == at.root_child, has_given = at.given.has(child);
  if (has_data == (is_root || has_given))
    return "contribute: only the root of a reduce keeps its part, all others give theirs once";
  if (!has_data) return nullptr;
  if (event.ahead) at.root_child = child;
  at.given.add(child);
  ChildSet known = at.given;
  if (at.root_child != kNoChild) known.add(at.root_child);
  event.completes = known.covers(child_set_);
  return nullptr;
}

/// The data of a prompt number go up by themselves: they are of fewer members than this node's, so the parent counts this
/// node later. The sum of a reduce goes up without the root's part.
void NodeGroup::relay(Slot& at, const AggHeader& header) {
  AggHeader h = header;
  if (header.coll == Coll::reduce) {
    h.members = members_ - 1;
    h.origin = lowest_rank_;
  }
  if (ctx_.parent) ctx_.data(ctx_.parent, h, at.data);
  if (at.source == kNoChild) at.data.reset();
}

/// The data of a bcast came from below: then the other members below need not wait for them to go up and come back.
void NodeGroup::tell_below(Slot& at) {
  if (at.source == kNoChild || !prompt(at.agreed) || at.agreed.coll != Coll::bcast) return;
  tell_children(at, result_header(at));
  at.is_told = true;
}

void NodeGroup::send_rest(const Slot& at) {
  AggHeader h = at.agreed;
  h.kind = wire::AggKind::contribute;
  h.members = members_;
  h.origin = lowest_rank_;
  h.payload_bytes = 0;
  if (ctx_.parent) ctx_.data(ctx_.parent, h, {});
}

/// The result of a prompt number has come before any contribution from below.
void NodeGroup::begin_ahead(Slot& at, const AggHeader& header, Time now) {
  at.sequence = header.sequence;
  at.agreed = header;
  at.agreed.payload_bytes = 0;  // as in the contribution of a member without data
  at.agreed.closed = {};
  at.opened_at = now;
  at.listening = false;
  at.source = kNoChild;
  at.is_told = false;
  at.kernel = {};
  at.given = {};
  at.root_child = child_of_root(header);
}

/// Moves over the numbers that are answered, and at the group's root over those that are closed.
void NodeGroup::move_on() {
  const auto is_answered = [&](Sequence number, bool is_closed) {
    const Slot& at = slot(number);
    return at.sequence == number && (std::holds_alternative<node_number::Answered>(at.state) ||
                                     (!is_closed && std::holds_alternative<node_number::Unclosed>(at.state)));
  };
  while (is_answered(first_unanswered_, false)) first_unanswered_ = seq_next(first_unanswered_);
  if (expected_ != group_size_) return;
  while (is_answered(closed_, true)) closed_ = seq_next(closed_);
}

void NodeGroup::send_closed() {
  AggHeader h = ctx_.header(wire::AggKind::closed, id_);
  h.sequence = told_ = closed_;
  for (Child& child : children_) {
    if (child.closed || !seq_before(child.told, closed_)) continue;
    child.told = closed_;
    ctx_.data(child.link, h, {});
  }
}

/// Members wait for the closed count only when they run ahead: then it goes down without a result.
void NodeGroup::send_closed_if_due() {
  if (!seq_before(told_, closed_)) return;
  // A member that goes on with datagrams waits for all of it.
  const std::uint32_t from = way_ ? 1 : closed_alone_from(joined_.osts, joined_.stream_window);
  if (guard(Guard::closed_alone, seq_count(told_, begun_) >= from)) send_closed();
}

/// Numbers that the parent has closed and whose result goes to other nodes alone are over here; but not `kept`, whose result
/// has just come.
void NodeGroup::end_unanswered(Time now, std::optional<Sequence> kept) {
  if (!seq_before(first_unanswered_, closed_)) return;
  // Not even a parent that lies can make this loop longer than the ring.
  const Sequence end = seq_next(
      first_unanswered_, std::min(seq_count(first_unanswered_, closed_), static_cast<std::uint32_t>(slots_.size())));
  for (Sequence number = first_unanswered_; seq_before(number, end); number = seq_next(number))
    if (Slot& at = slot(number);
        number != kept && at.sequence == number && is_for_root_alone(at.agreed) && prompt(at.agreed))
      advance(at, node_number::Closed{}, 0, nullptr, nullptr, now);
  move_on();
}

void NodeGroup::closed(const AggHeader& header, Time now) {
  if (slots_.empty() || !seq_before(closed_, header.sequence)) return;
  closed_ = header.sequence;
  end_unanswered(now);
  skip_closed(closed_, now);
  send_closed();
}

}  // namespace sumac::proto
