// This file has the group as a whole: joining, verdict, leaving. Its numbers are in node_group_numbers.cpp, its memory
// in node_group_memory.cpp.
#include "proto/node_group.hpp"

#include <algorithm>

#include "proto/guard.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using wire::RefuseReason;

namespace {
std::uint32_t in_kib(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes >> 10, 0xFFFFFFFFu));
}
}  // namespace

bool NodeGroup::active() const noexcept {
  return !is<group_life::Absent>() && !is<group_life::Refused>() && !is<group_life::Left>();
}

bool NodeGroup::over() const noexcept { return !active(); }

void NodeGroup::begin(GroupId group_id) {
  retire();
  id_ = group_id;
  epoch_ = Epoch{};
  void_ = {wire::VoidReason::lost_node, ctx_.config.node_id, {}};
  wire::put_name(void_.lost.noticed_by, ctx_.own_name());
  life_ = group_life::Absent{};
  job_id_ = JobId{};
  group_size_ = expected_ = members_ = 0;
  lowest_rank_ = wire::kNoRank;
  verdict_.reset();
  invited_.reset();
  reported_.reset();
  report_again_at_ = kNever;
  answered_ = operations_ = streaming_operations_ = 0;
  unlocked_at_.reset();
  kept_from_ = first_unanswered_ = Sequence{};
}

group_life::Limits NodeGroup::life_limits() const noexcept {
  return {expected_ != 0 && expected_ == group_size_, ctx_.config.root, ctx_.config.limits.resend_after};
}

void NodeGroup::live(const group_life::Event& event, Time now) {
  auto [state, actions] = group_life::step(life_, event, now, life_limits());
  life_ = state;
  for (const auto action : actions) perform(action, now);
}

void NodeGroup::perform(group_life::Action action, Time now) {
  using group_life::Action;
  const auto head = [&](AggKind kind) { return ctx_.header(kind, id_, epoch_); };
  const auto to_children = [&](const auto& send) {
    for (const Child& child : children_)
      if (!child.closed) send(child.link);
  };
  switch (action) {
    case Action::count: return count_join(*pending_link_, pending_join_);
    case Action::join_up: return send_join_up(now);
    case Action::stand: return stand(now);
    case Action::joined_one:
      ++ctx_.stats.resends;
      invite(speaker_);
      return ctx_.control(speaker_, joined_header(), joined_);
    case Action::refuse_all:
      ++ctx_.stats.groups_refused;
      to_children([&](LinkId link) { ctx_.control(link, head(AggKind::refused), refused_); });
      return retire();
    case Action::refuse_one: return ctx_.control(speaker_, head(AggKind::refused), refused_);
    case Action::refuse_up:
      if (ctx_.parent) ctx_.control(ctx_.parent, head(AggKind::refused), refused_);
      return ctx_.expect_answer(now);
    case Action::free_id:
      if (Job* job = ctx_.jobs.find(ctx_.ids.release(id_)); job != nullptr) --job->ids_used;
      return;
    case Action::trouble_up: return report(heard_, now);
    case Action::verdict_all: return condemn(now);
    case Action::verdict_one: {
      if (!speaker_) return;
      AggHeader h = head(AggKind::verdict);
      h.sequence = first_failed_;
      return ctx_.control(speaker_, h, *verdict_);
    }
    case Action::void_all:
      to_children([&](LinkId link) { ctx_.control(link, head(AggKind::void_epoch), void_); });
      return retire();
    case Action::leave_up: {
      AggHeader h = head(AggKind::contribute);
      h.sequence = leave_sequence_;
      h.coll = wire::Coll::leave;
      h.origin = lowest_rank_;
      h.members = members_;
      if (ctx_.parent_lost) return live(group_life::ParentClosed{}, now);
      if (ctx_.parent) ctx_.data(ctx_.parent, h, {});
      return ctx_.expect_answer(now);
    }
    case Action::tell_later:
      passing_ = ctx_.header(AggKind::contribute, id_, epoch_);
      passing_.sequence = leave_sequence_;
      passing_.coll = wire::Coll::leave;
      passing_.origin = lowest_rank_;
      passing_.members = members_;
      passing_link_ = {};
      return ctx_.expect_answer(now);
    case Action::leave_done: {
      ++ctx_.stats.groups_left;
      AggHeader h = head(AggKind::contribute);
      h.sequence = leave_sequence_;
      to_children([&](LinkId link) { answer_leave(link, h); });
      return retire();
    }
    case Action::pass_up:
      if (ctx_.parent_lost) return live(group_life::ParentClosed{}, now);
      if (ctx_.parent) ctx_.data(ctx_.parent, passing_, {});
      return;
    case Action::pass_down:
      if (ctx_.links.find(passing_link_) != nullptr) answer_leave(passing_link_, passing_);
      return;
    case Action::answer_leave: return answer_leave(speaker_, passing_);
    case Action::ignore: ++ctx_.stats.late_copies; return;
  }
}

void NodeGroup::answer_leave(LinkId to, const AggHeader& request) {
  AggHeader h = ctx_.header(AggKind::result, request.group_id, request.epoch);
  h.sequence = request.sequence;
  h.coll = wire::Coll::leave;
  ctx_.data(to, h, {});
}

void NodeGroup::answer_over(LinkId to, const AggHeader& request) {
  if (request.coll == wire::Coll::leave) {
    if (guard(Guard::leave_of_the_gone, true)) answer_leave(to, request);
    return;
  }
  // The request is a late copy, whose sender ignores the answer, or comes from a member that does not know that the
  // epoch is over.
  if (!guard(Guard::void_again, true)) return;
  ++ctx_.stats.resends;
  ctx_.control(to, ctx_.header(AggKind::void_epoch, request.group_id, request.epoch), void_);
}

// ---- Joining ----------------------------------------------------------------------------------------------

NodeGroup::Flaw NodeGroup::join(Link& link, const AggHeader& header, const wire::JoinBody& body, Time now) {
  if (link.role == wire::Role::client &&
      guard(Guard::join_own,
            body.job_id != link.job_id || number_of(body.world_rank) != link.peer || body.members != 1))
    return "join: job and rank differ from this connection's hello";
  speaker_ = link.id;
  const bool joining = is<group_life::Absent>() || is<group_life::Collecting>();
  if (!joining && job_id_ != JobId{} && body.job_id != job_id_) return "join: the group belongs to another job";
  if (is<group_life::Collecting>() && epoch_before(header.epoch, epoch_)) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  pending_join_ = body;
  pending_link_ = &link;
  reproducible_pending_ = (header.flags & wire::kFlagReproducible) != 0;
  group_life::Join event{.counted = link.child_of[number_] != kNoChild};
  if (joining) {
    if (is<group_life::Absent>()) note_shape(header, body);
    if (const auto reason = objection(header, body, event.counted)) {
      event.objected = true;
      refused_ = refusal(*reason, *reason == RefuseReason::node_limit ? kChildrenMax : 0, 0);
    } else {
      event.completes = members_ + body.members >= expected_;
      if (event.completes && !(event.counted && guard(Guard::join_duplicate, true))) {
        Job* job = ctx_.jobs.find(job_id_);
        reserved_ = ctx_.jobs.reserve(*job, std::min(shape_.osts, body.osts));
        if (reserved_ == 0) {
          event.objected = true;
          refused_ = refusal(RefuseReason::no_ost, job->grant.quota.osts, body.osts);
        } else if (!reserve_windows(body)) {
          event.objected = true;
          refused_ = refusal(RefuseReason::node_limit, in_kib(ctx_.config.limits.window_bytes),
                             in_kib(reserved_ * number_bytes(body.payload_per_ost)));
        }
      }
    }
  } else if (!event.counted && active() && !is<group_life::Refusing>()) {
    refused_ = refusal(RefuseReason::bad_path, expected_, members_ + body.members);
  }
  live(event, now);
  return nullptr;
}

void NodeGroup::note_shape(const AggHeader& header, const wire::JoinBody& body) {
  epoch_ = header.epoch;
  job_id_ = body.job_id;
  group_size_ = body.group_size;
  expected_ = body.path[0].expected_members;
  shape_ = body;
  reproducible_below_ = true;
  reproducible_ = false;
}

std::optional<RefuseReason> NodeGroup::objection(const AggHeader& header, const wire::JoinBody& body, bool counted) {
  if (counted && guard(Guard::join_duplicate, true)) return std::nullopt;
  const Job* job = ctx_.jobs.find_active(body.job_id);
  if (job == nullptr) return RefuseReason::unknown_job;
  if (body.payload_per_ost > job->grant.quota.payload_per_ost || body.chunk_bytes > job->grant.quota.chunk_bytes)
    return RefuseReason::payload_too_large;
  if (header.epoch != epoch_) return RefuseReason::wrong_epoch;
  if (children_.size() >= kChildrenMax) return RefuseReason::node_limit;
  const bool same_shape =
      body.job_id == job_id_ && body.group_size == group_size_ && body.path_length == shape_.path_length &&
      std::equal(body.path.begin(), body.path.end(), shape_.path.begin(), [](const auto& a, const auto& b) {
        return a.node_id == b.node_id && a.expected_members == b.expected_members;
      });
  // The path must begin at this node and end where all members meet; nothing exists above the tree's root.
  const bool possible = body.path[0].node_id == ctx_.config.node_id &&
                        (expected_ == group_size_) == (body.path_length == 1) &&
                        (!ctx_.config.root || expected_ == group_size_) && members_ + body.members <= expected_ &&
                        std::none_of(children_.begin(), children_.end(),
                                     [&](const Child& child) { return child.lowest_rank == body.rank; });
  if (guard(Guard::join_agreement, !same_shape || !possible)) return RefuseReason::bad_path;
  return std::nullopt;
}

wire::RefusedBody NodeGroup::refusal(RefuseReason reason, std::uint32_t limit, std::uint32_t asked) const {
  wire::RefusedBody body;
  body.job_id = job_id_ != JobId{} ? job_id_ : pending_join_.job_id;
  body.reason = reason;
  body.node_id = ctx_.config.node_id;
  body.limit = limit;
  body.asked = asked;
  body.what = AggKind::join;
  return body;
}

void NodeGroup::count_join(Link& link, const wire::JoinBody& body) {
  if (!counted_in_job_) {
    if (Job* job = ctx_.jobs.find(job_id_); job != nullptr) ++job->groups_here, counted_in_job_ = true;
  }
  const auto child = static_cast<std::uint16_t>(children_.size());
  children_.push_back({.link = link.id,
                       .role = link.role,
                       .peer = link.peer,
                       .lowest_rank = body.rank,
                       .members = body.members,
                       .name = link.name});
  child_set_.add(child);
  link.child_of[number_] = child;
  members_ += body.members;
  reproducible_below_ = reproducible_below_ && reproducible_pending_;
  lowest_rank_ = std::min(lowest_rank_, body.rank);
  shape_.osts = std::min(shape_.osts, body.osts);
  shape_.stream_window = std::min(shape_.stream_window, body.stream_window);
  shape_.payload_per_ost = std::min(shape_.payload_per_ost, body.payload_per_ost);
  shape_.chunk_bytes = std::min(shape_.chunk_bytes, body.chunk_bytes);
}

void NodeGroup::send_join_up(Time now) {
  wire::JoinBody body = shape_;
  body.rank = lowest_rank_;
  body.world_rank = {};
  body.members = members_;
  body.osts = reserved_;
  --body.path_length;
  std::copy(shape_.path.begin() + 1, shape_.path.end(), body.path.begin());
  body.path.back() = {};
  AggHeader h = ctx_.header(AggKind::join, id_, epoch_);
  if (reproducible_below_) h.flags |= wire::kFlagReproducible;
  if (ctx_.parent) ctx_.control(ctx_.parent, h, body);
  ctx_.expect_answer(now);
}

void NodeGroup::stand(Time now) {
  if (life_limits().group_root) {
    const Job* job = ctx_.jobs.find(job_id_);
    joined_ = {};
    joined_.job_id = job_id_;
    joined_.osts = reserved_;
    joined_.stream_window = std::min(shape_.stream_window, job == nullptr ? 0 : job->grant.quota.stream_window);
    joined_.payload_per_ost = shape_.payload_per_ost;
    joined_.chunk_bytes = shape_.chunk_bytes;
    if (joined_.chunk_bytes == 0) joined_.stream_window = 0;
    joined_.low = joined_.high = ctx_.config.limits.first_sequence;
    joined_.root_node = ctx_.config.node_id;
    reproducible_ = reproducible_below_;
    wire::InvitedBody where;
    const bool wanted = ctx_.config.multicast_to_one_level ||
                        std::ranges::any_of(children_, [](const Child& c) { return c.role == wire::Role::node; });
    Multicast* all = wanted ? ctx_.outbox.multicast() : nullptr;
    if (all != nullptr && all->invite(id_, where)) invited_ = where;
  }
  ctx_.jobs.give_back(job_id_, reserved_ - joined_.osts);
  reserved_ = joined_.osts;
  // The new reservation is never larger than the one before.
  reserve_memory({joined_.osts, joined_.stream_window}, joined_.payload_per_ost, joined_.chunk_bytes, reproducible_);
  kept_from_ = first_unanswered_ = joined_.low;
  slots_.assign(ring_size(joined_.osts, joined_.stream_window), Slot{});
  ++ctx_.stats.groups_formed;
  for (const Child& child : children_) {
    if (child.closed) continue;
    if (Link* link = child.role == wire::Role::client ? ctx_.links.find(child.link) : nullptr; link != nullptr)
      ctx_.allow(*link, may_be_unread());
    invite(child.link);
    ctx_.control(child.link, joined_header(), joined_);
  }
  for (std::uint16_t child = 0; child < children_.size(); ++child)
    if (children_[child].closed) return child_closed(children_[child].link, child, now);
}

/// Invites the child before joined is sent, so that a member knows the address when the group stands.
void NodeGroup::invite(LinkId child) {
  if (invited_ && ctx_.links.find(child) != nullptr)
    ctx_.control(child, ctx_.header(AggKind::invited, id_, epoch_), *invited_);
}

void NodeGroup::invited(const AggHeader& header, const wire::InvitedBody& body) {
  // It came after joined (the hop reorders messages): the members do without multicast.
  if (guard(Guard::epoch, header.epoch != epoch_) || !is<group_life::AwaitingJoined>()) {
    ++ctx_.stats.late_copies;
    return;
  }
  invited_ = body;
}

AggHeader NodeGroup::joined_header() const noexcept {
  AggHeader h = ctx_.header(AggKind::joined, id_, epoch_);
  if (reproducible_) h.flags |= wire::kFlagReproducible;
  return h;
}

void NodeGroup::retire() {
  // People ask for the slow member when the run is over. Only groups that worked are kept, and only a few.
  if (!slots_.empty()) {
    if (ctx_.finished.size() == kFinishedKept) ctx_.finished.pop_front();
    ctx_.finished.push_back(view());
  }
  ctx_.jobs.give_back(job_id_, reserved_);
  reserved_ = 0;
  const bool is_left_over = leave_over();
  release_memory();
  end_stream();
  if (counted_in_job_ && !is_left_over)
    if (Job* job = ctx_.jobs.find(job_id_); job != nullptr) --job->groups_here;
  counted_in_job_ = false;
  for (const Child& child : children_)
    if (Link* link = ctx_.links.find(child.link); link != nullptr) link->child_of[number_] = kNoChild;
  children_.clear();
  child_set_ = {};
  slots_.clear();
  partials_.clear();
  blocks_.clear();
  reported_.reset();
  report_again_at_ = kNever;
}

NodeGroup::Flaw NodeGroup::joined(const AggHeader& header, const wire::JoinedBody& body, Time now) {
  speaker_ = {};
  if (guard(Guard::epoch, header.epoch != epoch_)) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (!is<group_life::AwaitingJoined>()) {
    live(group_life::JoinedAbove{}, now);
    return nullptr;
  }
  if (body.osts > reserved_ || body.payload_per_ost > shape_.payload_per_ost || body.chunk_bytes > shape_.chunk_bytes ||
      body.stream_window > shape_.stream_window)
    return "joined: the parent grants more than was asked for";
  joined_ = body;
  reproducible_ = reproducible_below_ && (header.flags & wire::kFlagReproducible) != 0;
  live(group_life::JoinedAbove{}, now);
  return nullptr;
}

void NodeGroup::refused_above(const AggHeader& header, const wire::RefusedBody& body, Time now) {
  speaker_ = {};
  if (header.epoch != epoch_) {
    ++ctx_.stats.late_copies;
    return;
  }
  if (is<group_life::AwaitingJoined>()) refused_ = body;
  live(group_life::RefusedAbove{}, now);
}

void NodeGroup::refused_below(LinkId link, const AggHeader& header, const wire::RefusedBody& body, Time now) {
  speaker_ = link;
  if (is<group_life::Absent>()) epoch_ = header.epoch, job_id_ = body.job_id;
  if (!is<group_life::Refusing>() && !is<group_life::Refused>()) refused_ = body;  // it is passed on, not merely echoed
  live(group_life::RefusedBelow{}, now);
}

// ---- Verdict and the end ----------------------------------------------------------------------------------

NodeGroup::Flaw NodeGroup::trouble(Link& link, const AggHeader& header, const wire::TroubleBody& body, Time now) {
  speaker_ = link.id;
  if (header.epoch != epoch_ || over()) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (guard(Guard::own_group, link.child_of[number_] == kNoChild))
    return "trouble: this connection did not join the group";
  if (body.culprit >= group_size_) return "trouble: the culprit is not in the group";
  heard_ = body;
  live(group_life::Trouble{}, now);
  return nullptr;
}

void NodeGroup::report(const wire::TroubleBody& body, Time now) {
  if (reported_) return;  // the first report is repeated until the verdict comes
  reported_ = body;
  report_again_at_ = resend_time(now, ctx_.config.limits.resend_after);
  ctx_.expect_answer(now);
  AggHeader h = ctx_.header(AggKind::trouble, id_, epoch_);
  h.sequence = first_unanswered_;
  h.origin = lowest_rank_;
  h.members = members_;
  if (ctx_.parent) ctx_.control(ctx_.parent, h, body);
}

NodeGroup::Flaw NodeGroup::verdict(const AggHeader& header, const wire::VerdictBody& body, Time now) {
  speaker_ = {};
  if (guard(Guard::epoch, header.epoch != epoch_)) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (!is<group_life::Standing>()) {
    live(group_life::VerdictAbove{}, now);
    return nullptr;
  }
  heard_ = body;
  first_failed_ = header.sequence;
  live(group_life::VerdictAbove{}, now);
  return nullptr;
}

void NodeGroup::condemn(Time now) {
  verdict_ = heard_;
  if (life_limits().group_root) {
    first_failed_ = first_unanswered_;
    ++ctx_.stats.verdicts;
  }
  leave_sequence_ = first_failed_;
  reported_.reset();
  for (Slot& at : slots_)
    if (!std::holds_alternative<node_number::Idle>(at.state) && !seq_before(at.sequence, first_failed_))
      advance(at, node_number::Condemned{}, 0, nullptr, nullptr, now);
  AggHeader h = ctx_.header(AggKind::verdict, id_, epoch_);
  h.sequence = first_failed_;
  for (const Child& child : children_)
    if (!child.closed) ctx_.control(child.link, h, *verdict_);
  if (all_left()) live(group_life::LeaveAfterVerdict{true}, now);
}

bool NodeGroup::all_left() const noexcept {
  return std::all_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.departed || guard(Guard::closed_has_left, child.closed); });
}

void NodeGroup::child_closed(LinkId link, std::uint16_t index, Time now, wire::TroubleReason why) {
  speaker_ = {};
  Child& child = children_[index];
  if (child.link != link) return;
  child.closed = true;
  heard_ = {};
  heard_.reason = why;
  heard_.culprit = child.lowest_rank;
  if (child.role == wire::Role::node) heard_.lost = ctx_.lost;
  if (is<group_life::Collecting>()) refused_ = refusal(RefuseReason::member_lost, 0, child.lowest_rank);
  live(group_life::ChildClosed{child.leaving, all_left()}, now);
}

void NodeGroup::void_epoch(const AggHeader& header, const wire::VoidBody& body, Time now) {
  speaker_ = {};
  if (header.epoch != epoch_ || over()) {
    ++ctx_.stats.late_copies;
    return;
  }
  if (is<group_life::AwaitingJoined>()) refused_ = refusal(RefuseReason::member_lost, 0, 0);
  if (active()) void_ = body;
  live(group_life::VoidAbove{}, now);
}

void NodeGroup::parent_closed(Time now) {
  speaker_ = {};
  if (active()) void_.lost = ctx_.lost;
  if (is<group_life::AwaitingJoined>()) refused_ = refusal(RefuseReason::member_lost, 0, 0);
  bool leave_under_way = false;
  if (is<group_life::Standing>() && life_limits().group_root)
    for (const Slot& at : slots_)
      leave_under_way |=
          at.agreed.coll == wire::Coll::leave && std::holds_alternative<node_number::AwaitingParent>(at.state);
  live(group_life::ParentClosed{leave_under_way}, now);
}

void NodeGroup::parent_ready(Time now) {
  speaker_ = {};
  if (is<group_life::AwaitingJoined>()) send_join_up(now);
  if (is<group_life::Departing>()) perform(group_life::Action::leave_up, now);
  if (is<group_life::Refusing>()) perform(group_life::Action::refuse_up, now);
  if (is<group_life::Passing>()) perform(group_life::Action::pass_up, now);
  if (is<group_life::Standing>())
    for (Slot& at : slots_)
      if (std::holds_alternative<node_number::AwaitingParent>(at.state)) send_number_up(at, now);
}

void NodeGroup::end_by_reuse(Time now) {
  speaker_ = {};
  if (active()) refused_ = refusal(RefuseReason::unknown_group, 0, 0);
  live(group_life::LeaveAnswered{}, now);
}

void NodeGroup::job_over(Time now) {
  speaker_ = {};
  if (!active()) return;
  refused_ = refusal(RefuseReason::unknown_job, 0, 0);
  void_.reason = wire::VoidReason::manager;
  live(group_life::JobOver{}, now);
}

Time NodeGroup::tick(Time now) {
  if (!active()) return kNever;
  speaker_ = {};
  live(group_life::Timeout{}, now);
  Time due = resend_at(life_);
  if (is<group_life::Standing>() && reported_) {
    if (guard(Guard::trouble_again, now >= report_again_at_)) {
      ++ctx_.stats.resends;
      const auto body = *reported_;
      reported_.reset();
      report(body, now);
    }
    due = std::min(due, report_again_at_);
  }
  if (is<group_life::Standing>() || is<group_life::Condemned>())
    for (Slot& at : slots_) {
      if (const auto* waiting = std::get_if<node_number::AwaitingParent>(&at.state);
          waiting != nullptr && now >= waiting->resend_at)
        advance(at, node_number::Timeout{}, 0, nullptr, nullptr, now);
      if (const auto* waiting = std::get_if<node_number::AwaitingParent>(&at.state); waiting != nullptr)
        due = std::min(due, waiting->resend_at);
    }
  return due;
}

GroupView NodeGroup::view() const {
  using Phase = GroupView::Phase;
  GroupView v;
  v.group_id = id_;
  v.job_id = job_id_;
  v.phase = is<group_life::Collecting>()       ? Phase::collecting_joins
            : is<group_life::AwaitingJoined>() ? Phase::awaiting_joined
            : is<group_life::Standing>()       ? Phase::standing
            : is<group_life::Refusing>()       ? Phase::refusing
            : is<group_life::Passing>()        ? Phase::passing_leave
                                               : Phase::condemned;
  v.root = life_limits().group_root;
  v.group_size = group_size_;
  v.expected = expected_;
  v.members = members_;
  v.osts = reserved_;
  v.stream_window = joined_.stream_window;
  v.first_unanswered = first_unanswered_;
  v.answered = answered_;
  v.operations = operations_;
  v.streaming_operations = streaming_operations_;
  for (const Child& child : children_)
    v.children.push_back({.link = child.link,
                          .role = child.role,
                          .peer = child.peer,
                          .name = std::string(wire::text_of(child.name)),
                          .lowest_rank = child.lowest_rank,
                          .members = child.members,
                          .messages = child.messages,
                          .bytes = child.bytes,
                          .came_last = child.came_last,
                          .kept_waiting = child.kept_waiting,
                          .closed = child.closed,
                          .left = child.leaving || child.departed});
  return v;
}

}  // namespace sumac::proto
