// The streaming lock of a group whose members are its tree. Its numbers belong to no operation of the user. Members that are behind
// must number theirs as the others did on the tree, so all go on asking for the lock and giving it back. A lock that the tree has
// denied has one byte as its result, and is denied to all; every other one is granted.
#include "proto/recovery_group.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {

using wire::Coll;

wire::AggHeader Group::contribution(Coll coll) const noexcept {
  wire::AggHeader header;
  header.kind = wire::AggKind::contribute;
  header.tree_id = config_.tree_id;
  header.group_id = config_.group_id;
  header.sequence = seq_next(first_sequence_, static_cast<std::uint32_t>(member_->posted()));
  header.coll = coll;
  header.origin = config_.rank;
  header.members = 1;
  return header;
}

/// Returns false while the operation has to wait for the lock.
bool Group::may_be_cut(Posted& posted) {
  if (posted.cutting.sent != 0 || !posted.cutting.operation.streaming) return true;
  const auto way = lock_.next_operation();
  if (way == LockKeeper::Way::without) posted.status = go_without_lock(posted.cutting, shape());
  if (way == LockKeeper::Way::wait) posted.is_begun = true;
  return way != LockKeeper::Way::wait;
}

void Group::post_our_own(Coll coll) {
  lock_.sent();
  const Number number = member_->posted();
  Slot& at = begin_slot(number);
  at.header = contribution(coll);
  at.header.flags = wire::kFlagFirst | wire::kFlagLast;
  at.operation = coll == Coll::unlock ? cut_ - 1 : cut_;
  at.is_posted = true;
  at.terms = terms_of(at.header, 0);
  if (Posted* posted = find_operation(at.operation); posted != nullptr && coll == Coll::unlock) posted->last = number;
  member_->post({Kind::all, 0, at.terms});
  settle(nullptr, nullptr);
}

void Group::take_our_own(const ClientHistory::Number& from, Slot& at) {
  const bool is_denied = (at.header.flags & wire::kFlagDenied) != 0;
  at.header.flags &= static_cast<std::uint16_t>(~wire::kFlagDenied);
  at.terms = at.result_terms = terms_of(at.header, 0);
  static constexpr std::byte kDenied{1};
  if (from.has_result && is_denied && keeps(Rule::lock_keeps_its_answer)) at.kept = copy({&kDenied, 1});
  Posted* posted = find_operation(from.of.value);
  if (posted == nullptr || posted->last != kNone) return;
  if (at.header.coll == Coll::unlock)
    posted->last = at.number;
  else
    posted->is_begun = true;
}

/// The number is complete here, by this epoch.
void Group::complete(Number number) {
  const Slot& at = slot(number);
  if (at.header.coll == Coll::lock) return lock_.answered(at.kept.size() != 0);
  deliver(number);
}

}  // namespace sumac::proto::recovery
