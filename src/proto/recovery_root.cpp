#include "proto/recovery_root.hpp"

#include <algorithm>
#include <utility>

#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {

Root::Root(Rank size, unsigned window, Epoch epoch)
    : size_(size),
      window_(window),
      epoch_(epoch),
      joins_(size),
      dead_(size),
      departed_(size),
      leaving_(size),
      ends_(size),
      next_(size) {}

Root Root::begun(Rank size, unsigned window, Epoch epoch) {
  Root root(size, window, epoch);
  root.phase_ = Phase::is_open;
  for (auto& join : root.joins_) join = Join{};
  return root;
}

void Root::send_all(auto&& body) {
  for (Rank to = 0; to < size_; ++to)
    if (joins_[to] && !dead_[to]) send(to, body);
}

Root::Slot& Root::slot_of(Number number) {
  while (number >= first_slot_ + slots_.size()) slots_.emplace_back();
  return slots_[static_cast<std::size_t>(number - first_slot_)];
}

Rank Root::holder_of(Number number) const {
  return number >= low_ && number - low_ < holders_.size() ? holders_[static_cast<std::size_t>(number - low_)]
                                                           : kNobody;
}

bool Root::has_heard_of_all() const {
  for (Rank each = 0; each < size_; ++each)
    if (!joins_[each] && !dead_[each] && !(departed_[each] && keeps(Rule::departed_had_all))) return false;
  return true;
}

void Root::join(Rank from, const Join& join) {
  if (dead_[from]) return send(from, Expelled{});
  if (phase_ != Phase::collects || joins_[from]) return;
  joins_[from] = join;
  leaving_[from] = join.leaves;
  ends_[from] = join.done;
  try_decide();
}

void Root::try_decide() {
  if (phase_ == Phase::collects && has_heard_of_all()) decide();
}

/// Prefers a member that has contributed the number: another one has not posted it yet, and may be late.
Rank Root::holder_among_joined(Number number) const {
  Rank found = kNobody;
  for (Rank each = 0; each < size_; ++each) {
    if (dead_[each] || !joins_[each]) continue;
    const Join& join = *joins_[each];
    if (number < join.oldest || number - join.oldest >= kSpanMax ||
        !join.can_supply.test(static_cast<std::size_t>(number - join.oldest)))
      continue;
    if (number < join.contributed) return each;
    found = each;
  }
  return found;
}

void Root::decide() {
  const bool somebody_left = std::find(departed_.begin(), departed_.end(), true) != departed_.end();
  bool is_first = true, somebody_died = false;
  for (Rank each = 0; each < size_; ++each) {
    if (dead_[each]) somebody_died = true;
    if (dead_[each] || !joins_[each]) continue;
    const Number least = std::min(joins_[each]->done, joins_[each]->contributed);
    low_ = is_first ? least : std::min(low_, least);
    is_first = false;
    if (!joins_[each]->verdict) continue;
    if (verdict_ && *verdict_ != *joins_[each]->verdict) broken_ = "two verdicts differ";
    verdict_ = joins_[each]->verdict;
  }
  // A member leaves when all have what they need. Whoever has joined without that is dead, and this root will be told so.
  if (somebody_left) {
    phase_ = Phase::over;
    for (Rank each = 0; each < size_; ++each)
      if (leaving_[each] && !dead_[each]) send(each, Left{});
    return;
  }
  holders_.assign(2 * window_, kNobody);
  for (std::size_t i = 0; i < holders_.size(); ++i) holders_[i] = holder_among_joined(low_ + i);
  // Without the dead nobody can contribute again what nobody has.
  if (!verdict_ && somebody_died) {
    verdict_.emplace();
    verdict_->culprit = first_dead_;
    verdict_->why = why_dead_;
    const auto none = std::find(holders_.begin(), holders_.end(), kNobody);
    verdict_->first = low_ + static_cast<Number>(none - holders_.begin());
    for (auto holder = none; holder != holders_.end(); ++holder)
      if (*holder != kNobody && keeps(Rule::verdict_has_mask))
        verdict_->also.set(static_cast<std::size_t>(holder - none));
  }
  if (verdict_)
    for (std::size_t i = 0; i < holders_.size(); ++i)
      if (verdict_->fails(low_ + i)) holders_[i] = kNobody;
  closed_ = told_ = begun_ = first_slot_ = low_;
  std::fill(next_.begin(), next_.end(), low_);
  phase_ = verdict_ ? Phase::condemned : Phase::is_open;
  send_all(Joined{low_, holders_, verdict_});
  end_if_all_leave();
}

bool Root::turn(Rank from, const Turn& turn) {
  if (dead_[from]) return send(from, Expelled{}), false;
  if (phase_ == Phase::condemned) {  // Only what the verdict lets complete goes on.
    if (turn.what != Turn::What::supplies || turn.number < first_slot_ || holder_of(turn.number) != from ||
        slot_of(turn.number).is_answered)
      return false;
    answer(turn.number);
    return true;
  }
  if (phase_ != Phase::is_open) return false;
  if (turn.number != next_[from]) return broken_ = "a turn out of order", false;
  if (turn.number >= closed_ + window_ || turn.operation.root >= size_)
    return broken_ = "a turn beyond the window, or of a root that is no member", false;
  for (Rank each = 0; each < size_; ++each)
    if (leaving_[each] && turn.number >= ends_[each]) return condemn(from, Why::disagrees), false;
  const Rank holder = holder_of(turn.number);
  if ((turn.what == Turn::What::contributes) != (holder == kNobody) ||
      (turn.what == Turn::What::supplies) != (holder == from))
    return broken_ = "a turn that was not agreed", false;
  Slot& slot = slot_of(turn.number);
  if (slot.turns > 0 && slot.operation != turn.operation) {
    condemn(from, Why::disagrees);
    return this->turn(from, turn);  // A supply still counts: the number completes, at the others.
  }
  ++next_[from];
  begun_ = std::max(begun_, next_[from]);
  slot.operation = turn.operation;
  ++slot.turns;
  const bool has_all = slot.turns == size_,
             has_source = slot.operation.kind == Kind::from_one && next_[slot.operation.root] > turn.number;
  if (!slot.is_answered && (holder != kNobody ? holder == from : has_all || has_source)) answer(turn.number);
  close();
  return true;
}

void Root::answer(Number number) {
  Slot& slot = slot_of(number);
  slot.is_answered = true;
  // The last turn closes the number as well.
  for (Rank to = 0; to < size_; ++to)
    if (joins_[to] && !dead_[to] &&
        (holder_of(number) != kNobody || slot.operation.kind != Kind::to_one || slot.operation.root == to))
      send(to, Result{number, closed_});
}

void Root::close() {
  const Number before = closed_;
  while (!slots_.empty() && slots_.front().turns == size_) {
    slots_.erase(slots_.begin());
    closed_ = ++first_slot_;
  }
  // It goes alone when so many numbers are begun beyond what was told that somebody may soon wait for it.
  if (keeps(Rule::closed_goes_alone) && closed_ > before && begun_ >= told_ + (window_ + 1) / 2) {
    told_ = closed_;
    send_all(Closed{closed_});
  }
}

bool Root::awaits_supply() const {
  for (std::size_t i = 0; i < holders_.size(); ++i) {
    const Number number = low_ + i;
    if (holders_[i] == kNobody || number < first_slot_) continue;
    const auto at = static_cast<std::size_t>(number - first_slot_);
    if (at >= slots_.size() || !slots_[at].is_answered) return true;
  }
  return false;
}

/// Tells whether the number is complete at all members, or will be.
bool Root::completes(Number number) const {
  const auto at = static_cast<std::size_t>(number - first_slot_);
  return holder_of(number) != kNobody || (at < slots_.size() && slots_[at].is_answered);
}

void Root::condemn(Rank culprit, Why why) {
  verdict_.emplace();
  verdict_->culprit = culprit;
  verdict_->why = why;
  Number first = first_slot_;
  while (completes(first)) ++first;
  verdict_->first = first;
  const Number end = std::max(first_slot_ + slots_.size(), low_ + holders_.size());
  for (Number number = first; number < end; ++number)
    if (completes(number) && keeps(Rule::verdict_has_mask))
      verdict_->also.set(static_cast<std::size_t>(number - first));
  phase_ = Phase::condemned;
  send_all(Condemned{*verdict_});
}

void Root::dead(Rank member, Why why) {
  if (dead_[member] || phase_ == Phase::over) return;
  dead_[member] = true;
  if (first_dead_ == kNobody) {
    first_dead_ = member;
    why_dead_ = why;
  }
  if (phase_ == Phase::collects) return try_decide();
  if (phase_ == Phase::is_void) return;
  if (awaits_supply() && keeps(Rule::void_without_supplier)) {
    phase_ = Phase::is_void;
    return;
  }
  if (phase_ == Phase::is_open) condemn(member, why);
  end_if_all_leave();
}

void Root::departed(Rank member) {
  departed_[member] = true;
  try_decide();
}

void Root::leaves(Rank from, Number end) {
  if (dead_[from] || (phase_ != Phase::is_open && phase_ != Phase::condemned)) return;
  leaving_[from] = true;
  ends_[from] = end;
  for (Rank each = 0; each < size_ && phase_ == Phase::is_open; ++each)
    if (next_[each] > end) condemn(each, Why::disagrees);  // It goes on where this member has ended.
  end_if_all_leave();
}

void Root::end_if_all_leave() {
  for (Rank each = 0; each < size_; ++each)
    if (!dead_[each] && !leaving_[each]) return;
  phase_ = Phase::over;
  send_all(Left{});
}

void Root::append_state(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), {static_cast<std::uint64_t>(phase_), low_, closed_, told_, begun_, first_slot_, first_dead_,
                             slots_.size()});
  for (Rank each = 0; each < size_; ++each) {
    words.push_back(static_cast<std::uint64_t>(dead_[each]) | static_cast<std::uint64_t>(departed_[each]) << 1 |
                    static_cast<std::uint64_t>(leaving_[each]) << 2 |
                    static_cast<std::uint64_t>(joins_[each].has_value()) << 3 | next_[each] << 4);
    if (phase_ == Phase::collects && joins_[each]) append(words, *joins_[each]);
  }
  words.insert(words.end(), holders_.begin(), holders_.end());
  for (const Slot& each : slots_)
    words.push_back(static_cast<std::uint64_t>(each.is_answered) | static_cast<std::uint64_t>(each.turns) << 1);
  append(words, verdict_);
}

}  // namespace sumac::proto::recovery
