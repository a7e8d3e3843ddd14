// A group on its tree, and the calls of its user, of the other members and of the manager. The data are in
// recovery_group_data.cpp.
#include "proto/recovery_group.hpp"

#include <bit>

#include "proto/recovery_rule.hpp"

namespace sumac::proto::recovery {

Group::Group(const ClientGroupConfig& config, ClientLink& link, Peers& peers)
    : config_(config), link_(link), peers_(peers) {
  link_.hold();
}

sumac::Result<std::unique_ptr<Group>> Group::make(const ClientGroupConfig& config, ClientLink& link, Outbox& tree,
                                                  Peers& peers) {
  ClientGroupConfig bounded = config;
  bounded.outlives = true;
  bounded.osts = std::min<std::uint32_t>(config.osts, kSpanMax / 2);
  bounded.stream_window = std::min<std::uint32_t>(config.stream_window, kSpanMax / 2);
  auto client = ClientGroup::make(bounded, tree, link.link());
  if (!client) return tl::unexpected(client.error());
  std::unique_ptr<Group> made(new Group(bounded, link, peers));
  made->client_ = std::move(*client);
  made->client_->observe(made.get());
  link.attach(*made->client_);
  return made;
}

Group::~Group() {
  if (client_) link_.detach(*client_);
  link_.release();
}

// ---- the tree -------------------------------------------------------------------------------------------------

void Group::stood() {
  if (!recovers() || never_stood_) return;
  first_sequence_ = client_->first_number();
  member_.emplace(config_.rank, config_.group_size, shape().window());
  client_->retain();
}

void Group::ended(bool left) {
  if (left && client_->phase() != Phase::left) return;
  end_calm();
  if (member_ && left) {
    catch_up();
    return hear(config_.group_size, {0, Left{}}, {});
  }
  if (member_) return lost_tree();
  const Phase phase = client_->phase();
  if (!left && !never_stood_ && shape().osts == 0 && (phase == Phase::lost || phase == Phase::left)) never_stand();
}

/// The others may stand already: they must not wait.
void Group::never_stand() {
  never_stood_ = true;
  for (Rank each = 0; each < config_.group_size; ++each)
    if (each != config_.rank) give_up_to(each);
}

void Group::lost_tree() {
  if (epoch() != 0) return;
  end_calm();
  catch_up();
  if (const auto& tree = client_->verdict(); tree && tree->body.culprit < config_.group_size) word_ = tree->body;
  member_->lost_tree();
  settle(nullptr, nullptr);
}

void Group::leave_tree(Time now) {
  if (member_) lost_tree();
  proceed(now);
}

void Group::lose_links(Time now) {
  if (!is_on_tree() || !client_->lose_links(now)) leave_tree(now);
}

void Group::give_up_to(Rank peer) {
  Data data;
  data.word = word_;
  encode(key(), {0, GivesUp{}}, data, head_);
  peers_.send(peer, head_, {});
}

// ---- the user ---------------------------------------------------------------------------------------------------

tl::expected<OpId, Errc> Group::post(const proto::Operation& operation, Time now) {
  if (is_on_tree()) return client_->post(operation, now);
  if (operation.streaming && shape().stream_window == 0) return post(unstreamed(operation), now);
  if (leaves_) return tl::unexpected(Errc::denied);
  if (member_->is_gone() || !member_->completes_more()) return tl::unexpected(Errc::verdict);
  if (const Errc legal = check(operation, config_.group_size, shape()); legal != Errc::ok) return tl::unexpected(legal);
  if (operations_.size() >= kOperationsMax) return tl::unexpected(Errc::again);
  Posted& posted = operations_.emplace_back();
  posted.id = {next_id_++};
  posted.cutting.operation = bounded(operation);
  plan(posted.cutting, shape());
  const OpId id = posted.id;
  proceed(now);
  return id;
}

std::optional<Completion> Group::next_completion() {
  if (is_on_tree()) return client_->next_completion();
  if (operations_.empty()) return std::nullopt;
  const Posted& posted = operations_.front();
  const bool is_cut = posted.last != kNone;
  const bool none_comes = member_->is_gone() || !member_->completes_more();
  if (is_cut ? posted.last >= member_->done() : !none_comes || member_->done() != member_->posted())
    return std::nullopt;
  const Completion ended{posted.id, posted.cutting.operation.token, is_cut ? posted.status : Errc::verdict,
                         posted.cutting.operation.streaming};
  operations_.pop_front();
  return ended;
}

std::uint32_t Group::begun() const noexcept {
  const std::uint32_t at = operations_.empty() ? 0 : cut_ - operations_.front().id.value;
  if (at >= operations_.size()) return cut_;
  const bool is_asked = operations_[at].is_begun && keeps(Rule::lock_begins_operation);
  return cut_ + (is_asked || operations_[at].cutting.sent > 0 ? 1 : 0);
}

std::vector<proto::Operation> Group::withdraw(std::uint32_t first) {
  std::vector<proto::Operation> taken;
  // After a verdict some of them may have failed already.
  for (; !operations_.empty() && operations_.back().id.value >= first; operations_.pop_back())
    taken.insert(taken.begin(), operations_.back().cutting.operation);
  next_id_ = std::min(next_id_, first);
  return taken;
}

void Group::wake(Time now) {
  if (epoch() == 0) client_->wake(now);
  proceed(now);
}

void Group::give_up(Time now, std::uint32_t dead) {
  end_calm();
  if (!member_ && shape().osts != 0) return client_->let_go(dead);
  if (!member_) {
    if (!never_stood_) never_stand();
    return client_->leave(now);
  }
  catch_up();
  dead_beside_ = dead;
  if (!word_ && dead != wire::kNoRank) word_ = wire::gave_up(config_.rank, dead);
  member_->give_up();
  settle(nullptr, nullptr);
  proceed(now);
}

void Group::leave(Time now) {
  leaves_ = true;
  end_calm();
  if (member_ && is_on_tree() && !client_->has_links()) lost_tree();  // Nobody there would answer.
  if (epoch() == 0) client_->leave(now);
  proceed(now);
}

Group::Phase Group::phase() const noexcept {
  if (never_stood_) return leaves_ ? Phase::left : Phase::lost;
  if (!member_) return client_->phase();
  if (has_left_) return Phase::left;
  if (member_->is_gone()) return leaves_ ? Phase::left : Phase::condemned;
  if (epoch() == 0) return client_->phase();
  if (leaves_) return Phase::leaving;
  return verdict_ ? Phase::condemned : Phase::standing;
}

bool Group::is_over_on_tree() const noexcept {
  const Phase tree = client_->phase();
  return tree == Phase::left || tree == Phase::lost || tree == Phase::refused;
}

std::string Group::why(std::span<const std::string> names) const {
  if (broken_ != nullptr) return broken_;
  if (differs_ || (verdict_ && verdict_->body.reason == wire::TroubleReason::disagree)) {
    // The members' own verdict does not say in what. The tree's may be about other members: any two that differ will do.
    if (word_ && word_->reason == wire::TroubleReason::disagree) return describe(*word_, names);
    const auto culprit = verdict_ ? verdict_->body.culprit : config_.rank;
    return (culprit < names.size() ? names[culprit] : "rank " + std::to_string(culprit)) +
           " posted another operation than the others";
  }
  if (verdict_ && word_ && word_->reason == wire::TroubleReason::gave_up && word_->culprit == verdict_->body.culprit)
    return describe(*word_, names);
  if (verdict_) return describe(verdict_->body, names);
  return member_ && epoch() != 0 ? std::string() : client_->why(names);
}

// ---- the others -------------------------------------------------------------------------------------------------

void Group::on_message(Rank from, std::span<const std::byte> frame, Time now) {
  end_calm();
  GroupKey group{};
  Message message;
  Data data;
  const char* flaw = decode(frame, {config_.group_size, payload_most()}, group, message, data);
  if (flaw == nullptr && group != key()) flaw = "a message of another group";
  catch_up();
  if (flaw == nullptr && member_ && !member_->is_gone()) flaw = member_->flaw(from, message);
  if (flaw != nullptr) return peers_.drop(from, Error{Errc::invalid, flaw});
  if (has_left_) return;  // The manager says so to the others.
  if (member_) {
    hear(from, message, data);
  } else if (never_stood_ || client_->phase() == Phase::refused) {
    if (!std::holds_alternative<GivesUp>(message.body) && !std::holds_alternative<Expelled>(message.body))
      give_up_to(from);
  } else if (shape().osts == 0 && std::holds_alternative<GivesUp>(message.body)) {
    never_stood_ = true;  // Not all members are there. Whoever stands asks, or has asked, and is told so.
    for (const auto& each : std::exchange(early_, {})) give_up_to(each.first);
    client_->leave(now);
  } else if (shape().osts == 0 && early_.size() < std::size_t{8} * config_.group_size) {
    early_.emplace_back(from, std::vector<std::byte>(frame.begin(), frame.end()));
  }
  proceed(now);
}

void Group::hear(Rank from, const Message& message, const Data& data) {
  const bool decides = std::holds_alternative<Joined>(message.body) || std::holds_alternative<Condemned>(message.body);
  if (data.word && (decides || !word_)) word_ = data.word;
  member_->hear(from, message);
  settle(std::holds_alternative<Turn>(message.body) ? &data : nullptr,
         std::holds_alternative<recovery::Result>(message.body) ? &data : nullptr);
}

void Group::on_link_lost(Rank peer, Time now) {
  end_calm();
  if (never_stood_ || client_->phase() == Phase::refused) give_up_to(peer);
  if (!member_) return;
  member_->lost_link(peer);
  settle(nullptr, nullptr);
  proceed(now);
}

void Group::dead(Rank member, Time now) {
  end_calm();
  if (!member_) return early_dead_.push_back(member);
  catch_up();
  member_->dead(member);
  if (!member_->is_gone()) lost_tree();
  settle(nullptr, nullptr);
  proceed(now);
}

void Group::departed(Rank member, Time now) {
  end_calm();
  if (!member_) return;
  member_->departed(member);
  settle(nullptr, nullptr);
  proceed(now);
}

void Group::run(Time now) {
  if (member_) {
    for (const Rank each : std::exchange(early_dead_, {})) dead(each, now);
    for (const auto& [from, frame] : std::exchange(early_, {})) on_message(from, frame, now);
  } else if (client_->phase() == Phase::refused) {
    for (const auto& each : std::exchange(early_, {})) give_up_to(each.first);  // They stood, and the tree was lost.
  }
  proceed(now);
  is_calm_ = is_on_tree() && has_tree() && client_->phase() == Phase::standing && !leaves_ && !never_stood_;
}

/// Posting ends with the machine's leave(), so all operations must be cut first.
void Group::say_leave() {
  const bool is_cut = cut_ == next_id_ && lock_.due() == wire::Coll::none;
  if (!leaves_ || has_said_leave_ || !member_ || (!is_cut && member_->completes_more())) return;
  has_said_leave_ = true;
  member_->leave();
}

void Group::proceed(Time now) {
  if (!member_) return;
  if ((epoch() != 0 || (member_->is_gone() && !has_left_)) && !has_left_tree_) {
    // The tree may live. It lets go of the users' memory, and the group ends there as well.
    has_left_tree_ = true;
    client_->let_go(dead_beside_);
    client_->leave(now);
  }
  if (has_left_tree_ && is_over_on_tree()) link_.detach(*client_);  // Nothing that is late concerns it.
  if (is_on_tree()) return;
  pump();
  say_leave();
  settle(nullptr, nullptr);
}

/// Cuts operations while their numbers have their turn at once.
void Group::pump() {
  while (epoch() != 0 && !member_->is_gone() && member_->has_room()) {
    if (const wire::Coll due = lock_.due(); due != wire::Coll::none) {
      post_our_own(due);
      continue;
    }
    if (cut_ == next_id_) return;
    Posted& posted = *find_operation(cut_);
    if (cut_ >= stop_at_ && !posted.is_begun && posted.cutting.sent == 0) return;
    if (!may_be_cut(posted)) {
      if (lock_.due() == wire::Coll::none) return;  // The lock's answer decides.
      continue;
    }
    const FragmentRange range = next_fragment(posted.cutting);
    if (!is_ready(posted.cutting, range)) return;
    wire::AggHeader header = contribution(posted.cutting.operation.coll);
    describe_fragment(posted.cutting, range, header);
    const proto::Operation& operation = posted.cutting.operation;
    std::span<const std::byte> part;
    if (header.payload_bytes != 0)
      part = operation.src.subspan((range.first - std::min(range.first, operation.give.from)) * posted.cutting.element,
                                   header.payload_bytes);
    post_number(posted, header, range.elements, part);
  }
}

void Group::note_verdict() {
  if (verdict_ || !member_->verdict()) return;
  static constexpr wire::TroubleReason kReasons[] = {wire::TroubleReason::dead_rank, wire::TroubleReason::gave_up,
                                                     wire::TroubleReason::disagree};
  const recovery::Verdict& from = *member_->verdict();
  verdict_.emplace();
  verdict_->first_failed = seq_next(first_sequence_, static_cast<std::uint32_t>(from.first));
  verdict_->body.reason = kReasons[static_cast<std::size_t>(from.why)];
  verdict_->body.culprit = from.culprit;
}

}  // namespace sumac::proto::recovery
