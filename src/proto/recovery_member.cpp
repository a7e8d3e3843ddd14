#include "proto/recovery_member.hpp"

#include <algorithm>
#include <cassert>

#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {

Member::Member(Rank self, Rank size, unsigned window)
    : self_(self), size_(size), window_(window), dead_(size), departed_(size) {
  assert(2 * window <= kSpanMax);
}

Member::Record* Member::find(Number number) {
  return number >= first_ && number - first_ < records_.size() ? &records_[static_cast<std::size_t>(number - first_)]
                                                               : nullptr;
}

bool Member::is_complete(const Record& record, Number number) const {
  if (record.has_result) return true;
  if (number >= contributed_) return false;
  switch (record.operation.kind) {
    case Kind::all: return false;
    case Kind::from_one: return record.operation.root == self_;
    case Kind::to_one: return record.operation.root != self_;
  }
  return false;
}

bool Member::can_supply(const Record& record, Number number) const {
  return record.has_result ||
         (number < contributed_ && record.operation.kind == Kind::from_one && record.operation.root == self_);
}

void Member::send(auto&& body) {
  Message message{epoch_, std::forward<decltype(body)>(body)};
  if (epoch_ == 0) return sends_.push_back({size_, std::move(message)});  // The tree.
  const Rank root = root_of(epoch_, size_);
  if (root != self_) return sends_.push_back({root, std::move(message)});
  if (const auto* join = std::get_if<Join>(&message.body)) root_->join(self_, *join);
  if (const auto* own = std::get_if<Turn>(&message.body)) give_root(self_, *own);
  if (const auto* leaves = std::get_if<Leaves>(&message.body)) root_->leaves(self_, leaves->end);
}

void Member::give_root(Rank from, const Turn& turn) {
  if (root_->turn(from, turn)) taken_.push_back({from, turn});
}

void Member::post(Operation operation) {
  if (find(posted_) == nullptr) records_.emplace_back();
  find(posted_++)->operation = operation;
  turn();
  advance();
  run_root();
}

void Member::catch_up(Number first, Number closed, const std::vector<Past>& past) {
  assert(epoch_ == 0 && first <= closed && closed <= first + past.size());
  records_.clear();
  for (const Past& each : past) records_.push_back({each.operation, each.has_result});
  first_ = done_ = first;
  posted_ = contributed_ = next_ = first + past.size();
  closed_ = closed_ever_ = closed;
  advance();
  events_.clear();
}

void Member::leave() {
  leaves_ = true;
  advance();
  run_root();
}

Rank Member::holder_of(Number number) const {
  return number - low_ < holders_.size() ? holders_[static_cast<std::size_t>(number - low_)] : kNobody;
}

void Member::turn() {
  if (!is_joined_) return;
  if (verdict_) return supply_what_completes();
  for (; next_ < posted_ && next_ < closed_ + window_; ++next_) {
    const Rank holder = holder_of(next_);
    take_turn(holder == kNobody ? Turn::What::contributes : holder == self_ ? Turn::What::supplies : Turn::What::skips);
  }
}

/// A reduce that the verdict calls complete may have been so at its root alone, to which the result was under way when it was lost. It
/// fails there: the others were done when their parts were sent.
bool Member::fails(Number number) const {
  if (!verdict_) return false;
  const bool is_lost = is_decided_ && number >= low_ && number - low_ < holders_.size() &&
                       holder_of(number) == kNobody && keeps(Rule::lost_reduce_fails);
  return is_lost || verdict_->fails(number);
}

/// After a verdict nothing new goes on, and nobody waits for a member that has not posted a number.
void Member::supply_what_completes() {
  for (const Number end = low_ + holders_.size(); next_ < end; ++next_)
    if (holder_of(next_) == self_) take_turn(Turn::What::supplies);
}

void Member::take_turn(Turn::What what) {
  const Record* record = find(next_);
  if (record == nullptr) {
    broken_ = "a number is needed again that was forgotten";
    return;
  }
  if (what == Turn::What::supplies && !can_supply(*record, next_)) broken_ = "a number cannot be supplied as announced";
  if (what == Turn::What::contributes && record->has_result && record->operation.kind == Kind::all &&
      record->result_in != epoch_)  // Otherwise the members disagree, and the root finds out.
    broken_ = "a part is gone that must be contributed again";
  contributed_ = std::max(contributed_, std::min(next_ + 1, posted_));
  send(Turn{next_, what, record->operation});
}

void Member::advance() {
  while (done_ < posted_) {
    const Record& record = *find(done_);
    // A number that completed early stays so, whatever the verdict says of it.
    if (!is_complete(record, done_) && !fails(done_)) break;
    events_.push_back({is_complete(record, done_) ? Event::What::completed : Event::What::failed, done_});
    ++done_;
  }
  forget_closed();
  if (leaves_ && (done_ == posted_ || !keeps(Rule::leave_when_done)) && is_joined_ && !told_leave_ && !is_gone_) {
    told_leave_ = true;
    send(Leaves{posted_});
  }
}

/// Whoever may still need a number has not completed it, and is at most a window behind what is closed.
void Member::forget_closed() {
  while (!records_.empty() && first_ < done_ && first_ + (keeps(Rule::retain_a_window) ? window_ : 0) < closed_ever_) {
    records_.erase(records_.begin());
    ++first_;
  }
}

void Member::condemn(const Verdict& verdict) {
  if (verdict_ && *verdict_ != verdict) broken_ = "two verdicts differ";
  verdict_ = verdict;
}

void Member::move_to(Epoch epoch) {
  if (is_gone_) return;
  while (keeps(Rule::dead_root_is_skipped) && (dead_[root_of(epoch, size_)] || departed_[root_of(epoch, size_)]))
    ++epoch;
  // From here on nothing of older epochs is heard: what is announced stays true.
  epoch_ = epoch;
  is_joined_ = is_decided_ = false;
  root_.reset();
  if (root_of(epoch, size_) == self_) {
    root_.emplace(size_, window_, epoch);
    for (Rank each = 0; each < size_; ++each) {
      if (each != self_) sends_.push_back({each, {epoch, Move{}}});
      if (departed_[each]) root_->departed(each);
    }
    for (const Dead& each : dead_in_order_) root_->dead(each.member, each.why);
  }
  Join join{.done = done_,
            .contributed = contributed_,
            .oldest = first_,
            .verdict = keeps(Rule::verdict_travels) ? verdict_ : std::nullopt,
            .leaves = leaves_ && done_ == posted_};
  for (std::size_t i = 0; i < records_.size(); ++i)
    if (can_supply(records_[i], first_ + i)) join.can_supply.set(i);
  told_leave_ = join.leaves;
  send(std::move(join));
  run_root();
}

/// The others go on without this member, whatever it still does.
void Member::expelled() {
  is_gone_ = true;
  verdict_ = Verdict{.first = done_, .also = {}, .culprit = self_, .why = gave_up_ ? Why::gave_up : Why::died};
  for (; done_ < posted_; ++done_) events_.push_back({Event::What::failed, done_});
}

void Member::lost_tree() {
  if (epoch_ == 0) move_to(1);
}

void Member::lost_link(Rank peer) {
  if (is_gone_ || epoch_ == 0) return;
  if (root_of(epoch_, size_) == peer) return move_to(epoch_ + 1);
  if (keeps(Rule::move_again))
    sends_.push_back({peer, {epoch_, Move{}}});  // The message that told it of this epoch may be lost.
}

void Member::dead(Rank member) { count_dead(member, Why::died); }

void Member::count_dead(Rank member, Why why) {
  if (member == self_ && !is_gone_) return expelled();  // The others may be gone, and cannot say so.
  if (dead_[member] || member == self_) return;
  dead_[member] = true;
  dead_in_order_.push_back({member, why});
  if (is_gone_) return;
  if (epoch_ > 0 && root_of(epoch_, size_) == member) return move_to(epoch_ + 1);
  if (root_) root_->dead(member, why);
  run_root();
}

void Member::give_up() {
  if (is_gone_) return;
  gave_up_ = true;
  for (Rank each = 0; each < size_; ++each)
    if (each != self_) sends_.push_back({each, {epoch_, GivesUp{}}});
  expelled();
}

void Member::departed(Rank member) {
  if (departed_[member] || member == self_) return;
  departed_[member] = true;
  if (is_gone_) return;
  if (epoch_ > 0 && root_of(epoch_, size_) == member) return move_to(epoch_ + 1);
  if (root_) root_->departed(member);
  run_root();
}

void Member::hear(Rank from, const Message& message) {
  // Its word may have been lost with a link.
  if (gave_up_ && !std::holds_alternative<GivesUp>(message.body) && !std::holds_alternative<Expelled>(message.body))
    sends_.push_back({from, {message.epoch, GivesUp{}}});
  if (is_gone_) return;
  if (from < size_ && dead_[from]) {
    sends_.push_back({from, {message.epoch, Expelled{}}});
    return;
  }
  if (std::holds_alternative<GivesUp>(message.body)) {
    if (epoch_ == 0) move_to(1);  // The tree would wait for that member.
    return count_dead(from, Why::gave_up);
  }
  if (message.epoch > epoch_) move_to(message.epoch);
  if (std::holds_alternative<Expelled>(message.body)) return expelled();
  if (message.epoch < epoch_ && (keeps(Rule::older_is_unheard) || !std::holds_alternative<Result>(message.body)))
    return;
  if (const auto* join = std::get_if<Join>(&message.body); join != nullptr && root_) root_->join(from, *join);
  if (const auto* turn = std::get_if<Turn>(&message.body); turn != nullptr && root_) give_root(from, *turn);
  if (const auto* leaves = std::get_if<Leaves>(&message.body); leaves != nullptr && root_)
    root_->leaves(from, leaves->end);
  hear_from_root(message);
  run_root();
}

const char* Member::flaw(Rank from, const Message& message) const {
  if (from >= size_ || from == self_) return "a stranger speaks";
  if (message.epoch == 0) return std::holds_alternative<GivesUp>(message.body) ? nullptr : "members speak in epoch 0";
  const bool is_roots = from == root_of(message.epoch, size_);
  if (std::holds_alternative<Join>(message.body) || std::holds_alternative<Turn>(message.body) ||
      std::holds_alternative<Leaves>(message.body))
    return root_of(message.epoch, size_) == self_ ? nullptr : "this member is not the root of the epoch";
  if (std::holds_alternative<Move>(message.body) || std::holds_alternative<Expelled>(message.body) ||
      std::holds_alternative<GivesUp>(message.body))
    return nullptr;
  if (!is_roots) return "only the root of an epoch decides";
  if (message.epoch > epoch_) return "a decision that this member has not joined";
  if (message.epoch < epoch_) return nullptr;  // It is late, and will not be heard.
  const auto* joined = std::get_if<Joined>(&message.body);
  if ((joined != nullptr) == is_joined_ && !std::holds_alternative<Left>(message.body))
    return joined != nullptr ? "an epoch is decided once" : "a number before the decision";
  if (joined != nullptr) {
    if (joined->holders.size() != 2 * window_) return "holders for another window";
    if (joined->low < first_ || joined->low > std::min(done_, contributed_)) return "an epoch that begins elsewhere";
    for (std::size_t i = 0; i < joined->holders.size(); ++i) {
      if (joined->holders[i] != self_) continue;
      const Number number = joined->low + i;
      if (number - first_ >= records_.size() ||
          !can_supply(records_[static_cast<std::size_t>(number - first_)], number))
        return "a number that this member cannot supply";
    }
  }
  if (const auto* result = std::get_if<Result>(&message.body)) {
    if (result->closed > next_) return "a closed number that this member has not contributed";
    if (result->number >= std::max(result->closed + window_, low_ + 2 * window_)) return "a result beyond the window";
  }
  if (const auto* closed = std::get_if<Closed>(&message.body); closed != nullptr && closed->closed > next_)
    return "a closed number that this member has not contributed";
  return nullptr;
}

void Member::hear_from_root(const Message& message) {
  if (const auto* joined = std::get_if<Joined>(&message.body)) {
    is_joined_ = true;
    low_ = next_ = closed_ = joined->low;
    if (!keeps(Rule::window_from_low)) closed_ = std::max(closed_, closed_ever_);
    closed_ever_ = std::max(closed_ever_, closed_);
    holders_ = joined->holders;
    is_decided_ = joined->verdict.has_value();
    if (is_decided_) condemn(*joined->verdict);
  } else if (const auto* result = std::get_if<Result>(&message.body)) {
    while (first_ + records_.size() <= result->number) records_.emplace_back();
    if (Record* record = find(result->number); record != nullptr && !record->has_result) {
      record->has_result = true;
      record->result_in = epoch_;
      events_.push_back({Event::What::answered, result->number});
    }
    closed_ = std::max(closed_, result->closed);
  } else if (const auto* closed = std::get_if<Closed>(&message.body)) {
    closed_ = std::max(closed_, closed->closed);
  } else if (const auto* condemned = std::get_if<Condemned>(&message.body)) {
    condemn(condemned->verdict);
  } else if (std::holds_alternative<Left>(message.body)) {
    is_gone_ = true;
    events_.push_back({Event::What::left});
    return;
  } else {
    return;
  }
  closed_ever_ = std::max(closed_ever_, closed_);
  turn();
  advance();
}

/// Passes on what this member's root has to say, to itself as well.
void Member::run_root() {
  while (root_ && !is_gone_) {
    if (root_->is_void()) return move_to(epoch_ + 1);
    auto sends = root_->take_sends();
    if (sends.empty()) return;
    const Epoch epoch = epoch_;
    for (auto& each : sends)
      if (each.to != self_)
        sends_.push_back(std::move(each));
      else if (epoch == epoch_)
        hear_from_root(each.message);
  }
}

void Member::append_state(std::vector<std::uint64_t>& words) const {
  words.push_back((is_gone_ ? 1 : 0) | (gave_up_ ? 2 : 0));
  if (is_gone_) return;
  words.insert(words.end(), {epoch_, is_joined_, is_decided_, leaves_, told_leave_, first_, posted_, done_,
                             contributed_, low_, next_, closed_, closed_ever_, records_.size()});
  for (const Record& each : records_) words.push_back(each.has_result);
  for (Rank each = 0; each < size_; ++each)
    words.push_back(static_cast<std::uint64_t>(dead_[each]) | static_cast<std::uint64_t>(departed_[each]) << 1);
  for (const Dead& each : dead_in_order_) words.push_back(each.member << 8 | static_cast<std::uint64_t>(each.why));
  words.insert(words.end(), holders_.begin(), holders_.end());
  append(words, verdict_);
  words.push_back(root_ ? 1 : 0);
  if (root_) root_->append_state(words);
}

}  // namespace sumac::proto::recovery
