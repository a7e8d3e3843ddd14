// This file has the group as a whole: joining, verdict, leaving. Its numbers are in node_group_numbers.cpp and node_group_prompt.cpp, its memory
// in node_group_memory.cpp, silent neighbours in node_group_silence.cpp.
#include "proto/node_group.hpp"

#include <algorithm>

#include "base/result.hpp"
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

bool NodeGroup::over() const noexcept { return !active() || is<group_life::Deserted>() || is<group_life::Passing>(); }

void NodeGroup::begin(GroupId group_id) {
  retire();
  id_ = group_id;
  life_ = group_life::Absent{};
  job_id_ = JobId{};
  shape_ = {};
  group_size_ = expected_ = members_ = 0;
  lowest_rank_ = wire::kNoRank;
  invited_.reset();
  way_above_.reset();
  has_asked_way_ = goes_on_ = false;
  answered_ = operations_ = streaming_operations_ = 0;
  unlocked_at_.reset();
  kept_from_ = first_unanswered_ = closed_ = told_ = begun_ = Sequence{};
}

group_life::Limits NodeGroup::life_limits() const noexcept {
  return {expected_ != 0 && expected_ == group_size_, ctx_.config.root, ctx_.config.limits.resend_after};
}

void NodeGroup::live(const group_life::Event& event, Time now) {
  for (Follow next = event; next;) {
    const auto taken = step_life(*next, now);
    life_ = taken.state;
    ctx_.due = std::min(ctx_.due, resend_at(life_));
    next.reset();
    for (const auto& action : taken.actions)
      if (const Follow follow = perform(action, now)) next = follow;
  }
}

template <class Body>
void NodeGroup::to_children(const AggHeader& header, const Body& body) {
  for (const Child& child : children_)
    if (!child.closed) ctx_.control(child.link, header, body);
}

NodeGroup::Follow NodeGroup::perform(const group_life::Action& action, Time now) {
  using namespace group_life;
  const auto head = [&](AggKind kind) { return ctx_.header(kind, id_); };
  Follow next;
  std::visit(overloaded{
                 [&](const Ignore&) { ++ctx_.stats.late_copies; },
                 [&](const Count& a) { count_join(a); },
                 [&](const JoinUp&) { send_join_up(); },
                 [&](const Stand& a) { next = stand(a.above); },
                 [&](const JoinedOne& a) {
                   ++ctx_.stats.resends;
                   send_joined(a.to);
                 },
                 [&](const RefuseAll& a) {
                   ++ctx_.stats.groups_refused;
                   to_children(head(AggKind::refused), a.refused);
                   retire();
                 },
                 [&](const RefuseOne& a) { ctx_.control(a.to, head(AggKind::refused), a.refused); },
                 [&](const RefuseUp& a) {
                   if (ctx_.parent) ctx_.control(ctx_.parent, head(AggKind::refused), a.refused);
                 },
                 [&](const FreeId&) {
                   if (Job* job = ctx_.jobs.find(ctx_.ids.release(id_)); job != nullptr && job->ids_used != 0)
                     --job->ids_used;
                 },
                 [&](const TroubleUp& a) { send_trouble_up(a); },
                 [&](const VerdictAll& a) { next = condemn(a.verdict, now); },
                 [&](const VerdictOne& a) {
                   if (a.to) send_verdict(a.to, a.verdict);
                 },
                 [&](const OverAll& a) {
                   to_children(with_way(AggKind::over), a.why);
                   retire();
                 },
                 [&](const LeaveUp& a) {
                   if (ctx_.parent_lost)
                     next = without_parent();
                   else if (ctx_.parent)
                     ctx_.data(ctx_.parent, own_leave(a.leave), {});
                 },
                 [&](const LeaveDone& a) {
                   ++ctx_.stats.groups_left;
                   for (const Child& child : children_)
                     if (!child.closed) answer_leave(child.link, own_leave(a.leave));
                   retire();
                 },
                 [&](const PassUp& a) {
                   if (ctx_.parent_lost)
                     next = without_parent();
                   else if (ctx_.parent)
                     ctx_.data(ctx_.parent, a.leave, {});
                 },
                 [&](const AnswerLeave& a) {
                   if (ctx_.links.find(a.to) != nullptr) answer_leave(a.to, a.leave);
                 },
                 [&](const NumbersUp&) {
                   for (Slot& at : slots_)
                     if (std::holds_alternative<node_number::AwaitingParent>(at.state) &&
                         send_number_up(at, now) == Outcome::parent_lost)
                       next = without_parent();
                 },
             },
             action);
  return next;
}

// ---- The Leave of this node -------------------------------------------------------------------------------

AggHeader NodeGroup::own_leave(Sequence sequence) const noexcept {
  AggHeader h = ctx_.header(AggKind::contribute, id_);
  h.sequence = sequence;
  h.coll = wire::Coll::leave;
  h.origin = lowest_rank_;
  h.members = members_;
  return h;
}

/// Returns the number of this node's own Leave, if the parent still has to answer it.
std::optional<Sequence> NodeGroup::leave_number() const noexcept {
  if (const auto* verdict = group_life::verdict_of(life_); verdict != nullptr) return verdict->first_failed;
  for (const Slot& at : slots_)
    if (at.agreed.coll == wire::Coll::leave && std::holds_alternative<node_number::AwaitingParent>(at.state))
      return at.sequence;
  return std::nullopt;
}

group_life::ParentClosed NodeGroup::without_parent() const {
  const auto leave = leave_number();
  wire::OverBody why = over_body();
  why.lost = ctx_.lost;
  return {.leave_under_way = leave.has_value(),
          .leave = own_leave(leave.value_or(Sequence{})),
          .refused = refusal(RefuseReason::member_lost, 0, 0),
          .why = why};
}

group_life::LeaveAnswered NodeGroup::leave_answered(Sequence sequence) const {
  return {sequence, refusal(RefuseReason::unknown_group, 0, 0)};
}

void NodeGroup::answer_leave(LinkId to, const AggHeader& request) {
  AggHeader h = ctx_.header(AggKind::result, request.group_id);
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
  // group is over.
  if (!guard(Guard::over_again, true)) return;
  ++ctx_.stats.resends;
  const auto* left = std::get_if<group_life::Left>(&life_);
  const auto* deserted = std::get_if<group_life::Deserted>(&life_);
  ctx_.control(to, ctx_.header(AggKind::over, request.group_id),
               left != nullptr && left->why ? *left->why
               : deserted != nullptr        ? deserted->why
                                            : over_body());
}

wire::OverBody NodeGroup::over_body() const {
  wire::OverBody body{wire::OverReason::lost_node, ctx_.config.node_id, {}};
  wire::put_name(body.lost.noticed_by, ctx_.own_name());
  return body;
}

// ---- Joining ----------------------------------------------------------------------------------------------

NodeGroup::Flaw NodeGroup::join(Link& link, const AggHeader& header, const wire::JoinBody& body, Time now) {
  if (link.role == wire::Role::client &&
      guard(Guard::join_own,
            body.job_id != link.job_id || number_of(body.world_rank) != link.peer || body.members != 1))
    return "join: job and rank differ from this connection's hello";
  const bool joining = is<group_life::Absent>() || is<group_life::Collecting>();
  if (!joining && job_id_ != JobId{} && body.job_id != job_id_) return "join: the group belongs to another job";
  group_life::Join join{.from = link.id,
                        .body = body,
                        .reproducible = (header.flags & wire::kFlagReproducible) != 0,
                        .counted = link.child_of[number_] != kNoChild};
  if (is<group_life::Absent>()) note_shape(body);
  if (joining) {
    judge_join(join);
  } else {
    join.refused = refusal(RefuseReason::bad_path, expected_, members_ + body.members);
    join.refused.job_id = body.job_id;
  }
  live(join, now);
  return nullptr;
}

/// Decides whether the join counts and whether it completes the group. If it does, OSTs and memory are reserved.
void NodeGroup::judge_join(group_life::Join& join) {
  const auto object = [&](RefuseReason reason, std::uint32_t limit, std::uint32_t asked) {
    join.objected = true;
    join.refused = refusal(reason, limit, asked);
  };
  if (const auto reason = objection(join.body, join.counted))
    return object(*reason, *reason == RefuseReason::node_limit ? kChildrenMax : 0, 0);
  join.completes = members_ + join.body.members >= expected_;
  if (!join.completes || (join.counted && guard(Guard::join_duplicate, true))) return;
  Job* job = ctx_.jobs.find(job_id_);
  reserved_ = ctx_.jobs.reserve(*job, std::min(shape_.osts, join.body.osts));
  if (reserved_ == 0) return object(RefuseReason::no_ost, job->grant.quota.osts, join.body.osts);
  if (!reserve_windows(join))
    object(RefuseReason::node_limit, in_kib(ctx_.config.limits.window_bytes),
           in_kib(reserved_ * number_bytes(join.body.payload_per_ost)));
}

void NodeGroup::note_shape(const wire::JoinBody& body) {
  job_id_ = body.job_id;
  group_size_ = body.group_size;
  expected_ = body.path[0].expected_members;
  shape_ = body;
  reproducible_below_ = true;
  reproducible_ = false;
}

std::optional<RefuseReason> NodeGroup::objection(const wire::JoinBody& body, bool counted) {
  if (counted && guard(Guard::join_duplicate, true)) return std::nullopt;
  const Job* job = ctx_.jobs.find_active(body.job_id);
  if (job == nullptr) return RefuseReason::unknown_job;
  if (body.payload_per_ost > job->grant.quota.payload_per_ost || body.chunk_bytes > job->grant.quota.chunk_bytes)
    return RefuseReason::payload_too_large;
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
  body.job_id = job_id_;
  body.reason = reason;
  body.node_id = ctx_.config.node_id;
  body.limit = limit;
  body.asked = asked;
  body.what = AggKind::join;
  return body;
}

void NodeGroup::count_join(const group_life::Count& join) {
  const wire::JoinBody& body = join.body;
  Link* link = ctx_.links.find(join.from);
  if (!counted_in_job_) {
    if (Job* job = ctx_.jobs.find(job_id_); job != nullptr) ++job->groups_here, counted_in_job_ = true;
  }
  const auto child = static_cast<std::uint16_t>(children_.size());
  children_.push_back({.link = link->id,
                       .role = link->role,
                       .peer = link->peer,
                       .lowest_rank = body.rank,
                       .members = body.members,
                       .name = link->name,
                       .end = wire::datagram_end(body),
                       .is_canonical = (body.features & wire::kFeatureCanonical) != 0});
  child_set_.add(child);
  link->child_of[number_] = child;
  members_ += body.members;
  reproducible_below_ = reproducible_below_ && join.reproducible;
  lowest_rank_ = std::min(lowest_rank_, body.rank);
  shape_.features &= body.features & wire::kFeatureOutlives;
  shape_.osts = std::min(shape_.osts, body.osts);
  shape_.stream_window = std::min(shape_.stream_window, body.stream_window);
  shape_.payload_per_ost = std::min(shape_.payload_per_ost, body.payload_per_ost);
  shape_.chunk_bytes = std::min(shape_.chunk_bytes, body.chunk_bytes);
}

void NodeGroup::send_join_up() {
  wire::JoinBody body = shape_;
  body.rank = lowest_rank_;
  body.world_rank = {};
  body.members = members_;
  body.osts = reserved_;
  --body.path_length;
  std::copy(shape_.path.begin() + 1, shape_.path.end(), body.path.begin());
  body.path.back() = {};
  offer_way(body);
  AggHeader h = ctx_.header(AggKind::join, id_);
  if (reproducible_below_) h.flags |= wire::kFlagReproducible;
  if (ctx_.parent) ctx_.control(ctx_.parent, h, body);
}

/// Returns the answer of the group's root to all joins.
wire::JoinedBody NodeGroup::grant() const noexcept {
  const Job* job = ctx_.jobs.find(job_id_);
  wire::JoinedBody body;
  body.job_id = job_id_;
  body.osts = reserved_;
  body.stream_window = std::min(shape_.stream_window, job == nullptr ? 0 : job->grant.quota.stream_window);
  body.payload_per_ost = shape_.payload_per_ost;
  body.chunk_bytes = shape_.chunk_bytes;
  if (body.chunk_bytes == 0) body.stream_window = 0;
  body.first = ctx_.config.limits.first_sequence;
  body.root_node = ctx_.config.node_id;
  return body;
}

/// At the group's root: small results also go to a multicast address, where there is one and it pays.
void NodeGroup::choose_multicast() {
  wire::InvitedBody where;
  const bool wanted = ctx_.config.multicast_to_one_level ||
                      std::ranges::any_of(children_, [](const Child& c) { return c.role == wire::Role::node; });
  Multicast* all = wanted ? ctx_.outbox.multicast() : nullptr;
  if (all != nullptr && all->invite(id_, where)) invited_ = where;
}

NodeGroup::Follow NodeGroup::stand(const std::optional<group_life::JoinedAbove>& above) {
  joined_ = above ? above->body : grant();
  reproducible_ = reproducible_below_ && (!above || above->reproducible);
  if (!above) choose_multicast();
  ctx_.jobs.give_back(job_id_, reserved_ - joined_.osts);
  reserved_ = joined_.osts;
  // The new reservation is never larger than the one before.
  reserve_memory({joined_.osts, joined_.stream_window}, joined_.payload_per_ost, joined_.chunk_bytes, reproducible_);
  kept_from_ = first_unanswered_ = closed_ = told_ = begun_ = joined_.first;
  slots_.assign(ring_size(joined_.osts, joined_.stream_window), Slot{});
  begin_way();
  ++ctx_.stats.groups_formed;
  for (Child& child : children_) {
    child.told = told_;
    if (child.closed) continue;
    if (Link* link = child.role == wire::Role::client ? ctx_.links.find(child.link) : nullptr; link != nullptr)
      ctx_.allow(*link, may_be_unread());
    send_joined(child.link);
  }
  const auto closed = std::ranges::find_if(children_, [](const Child& child) { return child.closed || child.silent; });
  if (closed == children_.end()) return {};
  return closed_event(*closed, wire::TroubleReason::lost_connection);
}

/// The child is invited before joined is sent, so that a member knows the address when the group stands.
void NodeGroup::send_joined(LinkId child) {
  if (invited_ && ctx_.links.find(child) != nullptr) ctx_.control(child, ctx_.header(AggKind::invited, id_), *invited_);
  if (way_) send_way(child);
  AggHeader h = ctx_.header(AggKind::joined, id_);
  if (reproducible_) h.flags |= wire::kFlagReproducible;
  ctx_.control(child, h, joined_);
}

void NodeGroup::invited(const wire::InvitedBody& body) {
  if (is<group_life::AwaitingJoined>()) {
    invited_ = body;
  } else {
    ++ctx_.stats.late_copies;  // it came after joined (the hop reorders messages): the members do without multicast
  }
}

void NodeGroup::retire() {
  // People ask for the slow member when the run is over. Only groups that worked are kept, and only a few.
  if (!slots_.empty()) {
    if (ctx_.finished.size() == kFinishedKept) ctx_.finished.pop_front();
    ctx_.finished.push_back(view());
  }
  ctx_.jobs.give_back(job_id_, std::exchange(reserved_, 0));
  const bool is_left_over = leave_over();
  release_memory();
  end_way();
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
}

NodeGroup::Flaw NodeGroup::joined(const AggHeader& header, const wire::JoinedBody& body, Time now) {
  if (is<group_life::AwaitingJoined>() &&
      (body.osts > reserved_ || body.payload_per_ost > shape_.payload_per_ost ||
       body.chunk_bytes > shape_.chunk_bytes || body.stream_window > shape_.stream_window))
    return "joined: the parent grants more than was asked for";
  live(group_life::JoinedAbove{body, (header.flags & wire::kFlagReproducible) != 0}, now);
  return nullptr;
}

void NodeGroup::refused_above(const wire::RefusedBody& body, Time now) { live(group_life::RefusedAbove{body}, now); }

void NodeGroup::refused_below(LinkId link, const wire::RefusedBody& body, Time now) {
  if (is<group_life::Absent>()) job_id_ = body.job_id;
  live(group_life::RefusedBelow{link, body}, now);
}

// ---- Verdict and the end ----------------------------------------------------------------------------------

NodeGroup::Flaw NodeGroup::trouble(Link& link, const AggHeader& header, const wire::TroubleBody& body, Time now) {
  if (over()) {
    ++ctx_.stats.late_copies;
    return nullptr;
  }
  if (guard(Guard::own_group, link.child_of[number_] == kNoChild))
    return "trouble: this connection did not join the group";
  if (body.culprit >= group_size_) return "trouble: the culprit is not in the group";
  if ((header.flags & wire::kFlagDatagrams) != 0 && link.role == wire::Role::node && may_go_on())
    daemon_gone(body, now);
  else
    live(group_life::Trouble{link.id, body, first_unanswered_}, now);
  return nullptr;
}

void NodeGroup::send_trouble_up(const group_life::TroubleUp& trouble) {
  if (trouble.again) ++ctx_.stats.resends;
  AggHeader h = with_way(AggKind::trouble);
  h.sequence = first_unanswered_;
  h.origin = lowest_rank_;
  h.members = members_;
  if (ctx_.parent) ctx_.control(ctx_.parent, h, trouble.body);
}

NodeGroup::Flaw NodeGroup::verdict(const AggHeader& header, const wire::VerdictBody& body, Time now) {
  live(group_life::VerdictAbove{{body, header.sequence}}, now);
  return nullptr;
}

void NodeGroup::send_verdict(LinkId to, const group_life::Verdict& verdict) {
  AggHeader h = ctx_.header(AggKind::verdict, id_);
  h.sequence = verdict.first_failed;
  ctx_.control(to, h, verdict.body);
}

/// Forgets the numbers that the verdict condemns, then sends it to all children.
NodeGroup::Follow NodeGroup::condemn(const group_life::Verdict& verdict, Time now) {
  if (life_limits().group_root) ++ctx_.stats.verdicts;
  for (Slot& at : slots_)
    if (!std::holds_alternative<node_number::Idle>(at.state) && !seq_before(at.sequence, verdict.first_failed))
      advance(at, node_number::Condemned{}, 0, nullptr, nullptr, now);
  for (const Child& child : children_)
    if (!child.closed) send_verdict(child.link, verdict);
  if (all_left()) return group_life::LeaveAfterVerdict{true};
  return {};
}

bool NodeGroup::all_left() const noexcept {
  return std::all_of(children_.begin(), children_.end(), [](const Child& child) {
    return child.departed || child.silent || guard(Guard::closed_has_left, child.closed);
  });
}

void NodeGroup::child_closed(LinkId link, std::uint16_t index, Time now, wire::TroubleReason why, bool answers) {
  Child& child = children_[index];
  if (child.link != link) return;
  child.closed = true;
  const auto event = closed_event(child, why);
  const Job* job = ctx_.jobs.find(job_id_);
  const bool is_for_other_tree = job == nullptr || job->revoked;
  if (answers && (child.role == wire::Role::node || is_for_other_tree) && !child.leaving && may_go_on())
    return daemon_gone(event.trouble, now);
  live(event, now);
}

group_life::ChildClosed NodeGroup::closed_event(const Child& child, wire::TroubleReason why) const {
  wire::TroubleBody trouble;
  trouble.reason = why;
  trouble.culprit = child.lowest_rank;
  if (child.role == wire::Role::node) trouble.lost = ctx_.lost;
  return {.had_left = child.leaving,
          .all_left = all_left(),
          .trouble = trouble,
          .refused = refusal(RefuseReason::member_lost, 0, child.lowest_rank),
          .first_unanswered = first_unanswered_};
}

void NodeGroup::over_above(const AggHeader& header, const wire::OverBody& body, Time now) {
  if (!active()) {
    ++ctx_.stats.late_copies;
    return;
  }
  goes_on_ = (header.flags & wire::kFlagDatagrams) != 0 && has_parent() && may_go_on();
  live(group_life::OverAbove{refusal(RefuseReason::member_lost, 0, 0), body}, now);
}

void NodeGroup::parent_closed(Time now, bool answers) {
  goes_on_ = answers && has_parent() && may_go_on();
  live(without_parent(), now);
}

void NodeGroup::parent_ready(Time now) { live(group_life::ParentReady{}, now); }

void NodeGroup::end_by_answer(Time now) { live(leave_answered(leave_number().value_or(Sequence{})), now); }

void NodeGroup::pass_leave(LinkId from, const AggHeader& leave, Time now) {
  live(group_life::LeaveBelow{from, leave}, now);
}

void NodeGroup::job_over(Time now, bool again) {
  if (!active()) return;
  goes_on_ = again && may_go_on();
  const Job* job = ctx_.jobs.find(job_id_);
  const auto why = wire::over_by_manager(ctx_.config.node_id, job == nullptr ? std::string() : job->why_revoked);
  live(group_life::JobOver{refusal(RefuseReason::unknown_job, 0, 0), why}, now);
}

Time NodeGroup::tick(Time now) {
  if (!active()) return kNever;
  live(group_life::Timeout{}, now);
  Time due = resend_at(life_);
  if (!is<group_life::Standing>() && !is<group_life::Condemned>()) return due;
  if (is<group_life::Standing>()) {
    due = std::min(due, probe_parent(now));
    if (!is<group_life::Standing>()) return resend_at(life_);
  }
  for (Slot& at : slots_) {
    if (const auto* waiting = std::get_if<node_number::AwaitingParent>(&at.state);
        waiting != nullptr && now >= waiting->resend_at) {
      const Outcome outcome = advance(at, node_number::Timeout{}, 0, nullptr, nullptr, now);
      if (outcome != Outcome::nothing) {
        follow(outcome, at, at.agreed, now);
        return resend_at(life_);
      }
    }
    if (const auto* waiting = std::get_if<node_number::AwaitingParent>(&at.state); waiting != nullptr)
      due = std::min(due, waiting->resend_at);
  }
  return due;
}

GroupView NodeGroup::view() const {
  using Shown = GroupView::Phase;
  GroupView v;
  v.group_id = id_;
  v.job_id = job_id_;
  v.phase = is<group_life::Collecting>()       ? Shown::collecting_joins
            : is<group_life::AwaitingJoined>() ? Shown::awaiting_joined
            : is<group_life::Standing>()       ? Shown::standing
            : is<group_life::Refusing>()       ? Shown::refusing
            : is<group_life::Passing>()        ? Shown::passing_leave
                                               : Shown::condemned;
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
  note_missing(v);
  return v;
}

}  // namespace sumac::proto
