#include "proto/recovery_lasting.hpp"

#include <algorithm>

#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {
namespace {

bool may_stand(ClientGroup::Phase phase) {
  return phase == ClientGroup::Phase::joining || phase == ClientGroup::Phase::standing;
}

}  // namespace

// ---- the user

tl::expected<OpId, Errc> LastingGroup::post(const proto::Operation& operation, Time now) {
  if (auto* tree = calm(); tree != nullptr) return tree->post(operation, now);
  if (leaves_) return tl::unexpected(Errc::denied);
  if (verdict_ && (return_.has_gone() || ended_ != current_.get())) return tl::unexpected(Errc::verdict);
  const bool goes_to_next = return_.has_gone() && current_->operations() >= return_.proposal().first;
  if (!goes_to_next) {
    auto posted = current_->post(operation, now);
    settle(now);
    return posted;
  }
  // Whether the next group has memory for streams is not known here.
  const Errc legal = check(shape().stream_window == 0 ? unstreamed(operation) : operation, size_, shape());
  if (legal != Errc::ok) return tl::unexpected(legal);
  if (outstanding() >= kOperationsMax) return tl::unexpected(Errc::again);
  waiting_.push_back(operation);
  return OpId{static_cast<std::uint32_t>(waiting_.size())};
}

std::optional<Completion> LastingGroup::next_completion() {
  if (auto* tree = calm(); tree != nullptr) return tree->next_completion();
  const auto next_of = [](Group& life) {
    auto completion = life.next_completion();
    if (completion) completion->among_members = life.epoch() != 0;
    return completion;
  };
  for (const auto& each : past_)
    if (auto completion = next_of(*each)) return completion;
  if (auto completion = next_of(*current_)) return completion;
  if (failed_.empty() || current_->outstanding() > 0) return std::nullopt;
  const Completion first = failed_.front();
  failed_.pop_front();
  return first;
}

std::uint32_t LastingGroup::outstanding() const noexcept {
  std::uint32_t all = current_->outstanding() + static_cast<std::uint32_t>(waiting_.size() + failed_.size());
  for (const auto& each : past_) all += each->outstanding();
  return all;
}

void LastingGroup::wake(Time now) {
  current_->wake(now);
  settle(now);
}

void LastingGroup::give_up(Time now, std::uint32_t dead) {
  return_.cannot();
  if (next_) next_->give_up(now, dead);
  current_->give_up(now, dead);
  settle(now);
}

void LastingGroup::leave(Time now) {
  leaves_ = true;
  return_.cannot();
  settle(now);
}

LastingGroup::Phase LastingGroup::phase() const noexcept {
  if (!return_.has_gone()) {
    const Phase now = current_->phase();
    return verdict_ && now == Phase::standing ? Phase::condemned : now;
  }
  if (!leaves_) return verdict_ ? Phase::condemned : Phase::standing;
  const bool has_left = current_->phase() == Phase::left && (!next_ || next_->phase() == Phase::left);
  return has_left ? Phase::left : Phase::leaving;
}

// ---- the others

bool LastingGroup::is_group(GroupKey group) const noexcept {
  const auto is_it = [&](const auto& each) { return each && each->key() == group; };
  return is_it(current_) || is_it(next_) || std::ranges::any_of(past_, is_it) || std::ranges::count(left_, group) != 0;
}

bool LastingGroup::has_left(GroupKey group) const noexcept {
  return (current_->key() == group && current_->has_left()) || std::ranges::count(left_, group) != 0;
}

void LastingGroup::on_message(Rank from, std::span<const std::byte> frame, Time now) {
  const auto group = group_of(frame);
  if (speaks_of_return(frame)) {
    std::optional<Proposal> proposal;
    std::optional<Readiness> readiness;
    if (const char* flaw = decode(frame, proposal, readiness)) return peers_.drop(from, Error{Errc::invalid, flaw});
    if (group != current_->key()) return;  // It is about a life that is over here.
    if (proposal) return_.hear(from, *proposal);
    if (readiness) return_.hear(from, *readiness);
    return settle(now);
  }
  const auto hear = [&](const auto& each) {
    if (each && each->key() == group) each->on_message(from, frame, now);
  };
  hear(current_);
  hear(next_);
  for (const auto& each : past_) hear(each);
  settle(now);
}

void LastingGroup::on_link_lost(Rank peer, Time now) {
  return_.lost_link(peer);
  current_->on_link_lost(peer, now);
  if (next_) next_->on_link_lost(peer, now);
  for (const auto& each : past_) each->on_link_lost(peer, now);
  settle(now);
}

void LastingGroup::dead(Rank member, Time now) {
  dead_.push_back(member);
  current_->dead(member, now);
  if (next_) next_->dead(member, now);
  for (const auto& each : past_) each->dead(member, now);
  settle(now);
}

void LastingGroup::departed(GroupKey group, Rank member, Time now) {
  const auto hear = [&](const auto& each) {
    if (each && each->key() == group) each->departed(member, now);
  };
  hear(current_);
  hear(next_);
  for (const auto& each : past_) hear(each);
  settle(now);
}

void LastingGroup::run(Time now) {
  current_->run(now);
  if (next_) next_->run(now);
  for (const auto& each : past_) each->run(now);
  settle(now);
  calm_ = is_quiet() && current_->is_calm() ? &current_->on_tree() : nullptr;
}

// ---- trees

bool LastingGroup::wants_tree() const noexcept {
  return !current_->has_tree() && return_.may_propose() && !leaves_ && !verdict() &&
         current_->phase() == Phase::standing;
}

void LastingGroup::propose(TreeId tree, GroupId group, Time now) {
  return_.propose(tree, group);
  settle(now);
}

void LastingGroup::lose_tree(Time now) {
  current_->lose_links(now);
  settle(now);
}

// ---- from one life to the next

void LastingGroup::say(GroupKey life) {
  for (const Rank each : return_.take_sends()) {
    if (self_ == 0)
      encode(life, return_.proposal(), head_);
    else
      encode(life, return_.readiness(), head_);
    if (self_ == 0 || return_.readiness().state != Readiness::State::none) peers_.send(each, head_, {});
  }
}

bool LastingGroup::is_quiet() const noexcept {
  return return_.is_quiet() && past_.empty() && !leaves_ && !verdict() && waiting_.empty() && failed_.empty();
}

void LastingGroup::settle(Time now) {
  // On a tree that lives, which is nearly always, nothing is to be agreed.
  if (is_quiet()) return;
  calm_ = nullptr;
  look_at_next(now);
  go_on(now);
  for (auto actions = return_.take_actions(); !actions.empty(); actions = return_.take_actions()) {
    for (const auto each : actions) act(each, now);
    look_at_next(now);
    go_on(now);
  }
  say(current_->key());
  move_on(now);
  std::erase_if(past_,
                [&](const auto& each) { return each->is_over() && each->outstanding() == 0 && each.get() != ended_; });
}

void LastingGroup::act(Return::Action action, Time now) {
  switch (action) {
    case Return::Action::join:
      joins_ = true;
      current_->lose_links(now);  // There is another tree, by member 0's word.
      return;
    case Return::Action::drop:
      joins_ = false;
      if (!next_) return;
      next_->leave(now);
      past_.push_back(std::move(next_));
      return;
    case Return::Action::hold:
      current_->leave_tree(now);  // Among the members all know what is begun.
      if (keeps(Rule::return_holds)) current_->stop_at(current_->begun());
      return_.holds(current_->begun());
      return;
    case Return::Action::free: return current_->stop_at(Group::kEndless, now);
    case Return::Action::go:
      current_->stop_at(return_.proposal().first, now);
      for (auto& each : current_->withdraw(return_.proposal().first)) waiting_.push_back(std::move(each));
      return;
  }
}

/// Member 0 uses no group whose tree is lost again. From the time when all stand, such a group goes on among its members.
void LastingGroup::look_at_next(Time now) {
  if (return_.has_gone()) return;
  if (current_->verdict()) return_.cannot();
  if (joins_) {
    auto joined = trees_.join(return_.proposal().tree, return_.proposal().group, now);
    if (!joined) return_.cannot();
    joins_ = joined && !*joined;
    if (joined && *joined) {
      next_ = *std::move(joined);
      for (const Rank each : dead_) next_->dead(each, now);
    }
  }
  if (!next_) return;
  if (next_->stands_firmly()) return_.stands();
  if (!may_stand(next_->phase()) || (self_ == 0 && next_->epoch() != 0)) return_.cannot();
}

/// After a verdict what is not begun fails, and the next group is there for those who have left this one.
void LastingGroup::go_on(Time now) {
  if (!verdict_ && current_->verdict()) {
    verdict_ = current_->verdict();
    ended_ = current_.get();
  }
  const bool has_all = return_.has_gone() && current_->operations() >= return_.proposal().first;
  if (return_.has_gone() && verdict_) fail_rest();
  if ((has_all || (leaves_ && (!return_.has_gone() || verdict_))) && current_->phase() != Phase::left &&
      current_->phase() != Phase::leaving && !current_->leaves())
    current_->leave(now);
  if (leaves_ && return_.has_gone() && verdict_ && next_ && !next_->leaves()) next_->leave(now);
}

void LastingGroup::fail_rest() {
  for (const auto& each : waiting_) failed_.push_back({OpId{}, each.token, Errc::verdict, false});
  waiting_.clear();
}

void LastingGroup::move_on(Time now) {
  if (!return_.has_gone() || (!current_->has_left() && keeps(Rule::return_after_leave))) return;
  if (!verdict_ && current_->operations() < return_.proposal().first) return;
  constexpr std::size_t kLeftMax = 64;
  left_.push_back(current_->key());
  if (left_.size() > kLeftMax) left_.pop_front();
  current_->tell_of_unrest(nullptr);
  past_.push_back(std::move(current_));
  current_ = std::move(next_);
  current_->tell_of_unrest(&calm_);
  if (!verdict_) ended_ = current_.get();
  return_ = Return(self_, size_);
  ++returns_;
  for (auto& each : std::exchange(waiting_, {}))
    if (const auto posted = current_->post(each, now); !posted)
      failed_.push_back({OpId{}, each.token, posted.error(), false});
  if (leaves_ && !current_->leaves()) current_->leave(now);
  settle(now);
}

const char* LastingGroup::broken() const noexcept {
  if (next_ && return_.has_gone() && next_->broken() != nullptr) return next_->broken();
  return current_->broken();
}

std::size_t LastingGroup::bytes_kept() const noexcept {
  std::size_t all = current_->bytes_kept() + (next_ ? next_->bytes_kept() : 0);
  for (const auto& each : past_) all += each->bytes_kept();
  return all;
}

bool LastingGroup::is_over() const noexcept { return phase() == Phase::left && current_->is_over(); }

}  // namespace sumac::proto::recovery
