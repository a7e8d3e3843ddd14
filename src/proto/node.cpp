// A node's messages and links are sorted to its groups here.
#include "proto/node.hpp"

#include "proto/client_link.hpp"
#include "proto/guard.hpp"
#include "proto/with_body.hpp"

namespace sumac::proto {

using wire::AggHeader;
using wire::AggKind;
using wire::RefuseReason;

/// The interval at which a node checks whether members have taken the results that their groups left over.
constexpr Duration kReapEvery = Millis(100);

Node::Node(const NodeConfig& config, Outbox& outbox)
    : ctx_(config, outbox),
      groups_(config.limits.groups + 1),
      notes_(4 * static_cast<std::size_t>(config.limits.groups)),
      payload_max_(std::max(config.limits.payload_max, config.limits.chunk_max)) {}

void Node::on_datagram_differs(std::uint16_t number, const HopHeader& frame, std::uint64_t agreed, std::uint32_t other,
                               Time now) {
  for (const auto& group : groups_)
    if (group && group->datagram_number() == number) return group->datagram_differs(frame, agreed, other, now);
}

void Node::look_at_datagrams(Time now) {
  for (const auto& group : groups_)
    if (group && group->datagram_number()) group->look_at_datagrams(now);
}

void Node::on_message(LinkId from, BufferRef frame, Time now) {
  AggHeader header;
  const bool is_parent = from == ctx_.parent;
  Link* link = is_parent ? nullptr : ctx_.links.find(from);
  if (!is_parent && link == nullptr && from != greeting_) return;  // closed or dropped: the message was still in flight
  if (wire::decode(frame.bytes(), payload_max_, header) != Errc::ok) return malformed(from, frame, now);
  if (header.tree_id != ctx_.config.tree_id) return drop(from, "message of another tree", header, now);
  const Flaw flaw = is_parent         ? from_parent(header, frame, now)
                    : link != nullptr ? from_child(*link, header, frame, now)
                                      : greeted(header, frame, now);
  if (flaw != nullptr) drop(from, flaw, header, now);
  ctx_.jobs.sweep();
}

void Node::link_closed(LinkId id, Time now, wire::TroubleReason why, const LinkEnd& how) {
  note_lost(id, how);
  if (id && (id == ctx_.parent || id == greeting_)) {
    ctx_.parent = greeting_ = {};
    ctx_.parent_lost = true;
    for (auto& group : groups_)
      if (group) group->parent_closed(now, how.silence.count() == 0);
  } else if (Link* link = ctx_.links.find(id); link != nullptr) {
    for (std::size_t number = 1; number < link->child_of.size(); ++number)
      if (const auto child = link->child_of[number]; child != kNoChild)
        groups_[number]->child_closed(id, child, now, why, how.silence.count() == 0);
    notes_.link_closed(id);
    ctx_.links.remove(id);
    if (!ctx_.leftovers.empty()) ctx_.reap();
  }
  ctx_.jobs.sweep();
}

void Node::note_lost(LinkId id, const LinkEnd& how) {
  const Link* link = ctx_.links.find(id);
  if (link != nullptr && link->role != wire::Role::node) {
    ctx_.lost = {};
    return;
  }
  std::string name = how.name;
  if (name.empty() && link != nullptr)
    name = link->name.text[0] != 0 ? std::string(wire::text_of(link->name)) : fmt::format("id-{}", link->peer);
  ctx_.note_lost(name, how.where, how.silence, link == nullptr);
}

void Node::set_parent_link(LinkId link, const ParentInfo& parent, const wire::Nonce& nonce, Time now) {
  if (ctx_.parent && !(ctx_.parent == link)) link_closed(ctx_.parent, now);
  ctx_.parent = {};
  ctx_.parent_name = parent.name;
  ctx_.parent_address = parent.address;
  greeting_ = link;
  wire::HelloBody hello;
  hello.role = wire::Role::node;
  hello.id = number_of(ctx_.config.node_id);
  ctx_.control(link, ctx_.header(AggKind::hello), above_.begin(parent, ctx_.config.tree_id, hello, nonce));
}

/// Handles the new parent's first message; nothing went up before it.
Node::Flaw Node::greeted(const AggHeader& header, const BufferRef& frame, Time now) {
  if (header.kind == AggKind::refused)
    return use_body<wire::RefusedBody>(frame, [&](const auto& body) { return turned_away(body); });
  if (header.kind != AggKind::welcome) return "a parent says welcome first";
  return use_body<wire::WelcomeBody>(frame, [&](const wire::WelcomeBody& body) -> Flaw {
    if (body.version != wire::kAggVersion) return turned_away(refused_by_version(body));
    wire::ProofBody proof;
    if (const Flaw flaw = above_.judge(body, proof); flaw != nullptr) return flaw;
    ctx_.parent = std::exchange(greeting_, LinkId{});
    ctx_.parent_lost = false;
    ctx_.control(ctx_.parent, ctx_.header(AggKind::proof), proof);
    if (const auto name = wire::name_body(ctx_.config.name); name)
      ctx_.control(ctx_.parent, ctx_.header(AggKind::name), *name);
    say_again_above(now);
    return nullptr;
  });
}

Node::Flaw Node::turned_away(const wire::RefusedBody& body) {
  if (body.what == AggKind::hello) why_ = ": " + describe(body);
  return "the parent refuses this node";
}

void Node::say_again_above(Time now) {
  for (const auto& [key, note] : notes_.all()) ctx_.control(ctx_.parent, ctx_.header(AggKind::open), note.body);
  for (auto& group : groups_)
    if (group) group->parent_ready(now);
}

void Node::tick(Time now) {
  if (now < ctx_.due) return;
  ctx_.due = kNever;
  if (now >= ctx_.reap_at) {
    ctx_.reap_at = now + kReapEvery;
    ctx_.reap();
    ctx_.jobs.sweep();
  }
  if (now >= ctx_.jobs.next_over()) end_overdue(now);
  Time due = std::min(ctx_.reap_at, ctx_.jobs.next_over());
  for (auto& group : groups_)
    if (group) due = std::min(due, group->tick(now));
  ctx_.due = std::min(ctx_.due, due);
  ctx_.jobs.sweep();
}

Result<> Node::grant(const JobGrant& grant, Time now) {
  auto granted = ctx_.jobs.grant(grant);
  if (const Job* job = ctx_.jobs.find(grant.job_id); !granted && job != nullptr && job->revoked) {
    end_groups(grant.job_id, now, true);
    ctx_.jobs.sweep();
    granted = ctx_.jobs.grant(grant);
  }
  if (!granted) return granted;
  ctx_.jobs.find(grant.job_id)->ids_used = ctx_.ids.adopt(grant.job_id, grant);
  return {};
}

bool Node::revoke(JobId job_id, Time now, std::string_view why) {
  if (!ctx_.jobs.revoke(job_id, deadline_after(now, ctx_.config.limits.leave_after_end), why)) return false;
  ctx_.due = std::min(ctx_.due, ctx_.jobs.next_over());
  ctx_.ids.orphan(job_id);
  ctx_.jobs.sweep();
  return true;
}

void Node::leave_tree(Time now) {
  for (auto& group : groups_)
    if (group) group->job_over(now, true);
}

void Node::stop(Time now) {
  ctx_.note_stop();
  for (auto& group : groups_)
    if (group) group->stop(now);
}

void Node::end_groups(JobId job_id, Time now, bool again) {
  for (auto& group : groups_)
    if (group && group->job_id() == job_id) group->job_over(now, again);
}

/// Ends the groups and links of jobs whose members did not leave in time.
void Node::end_overdue(Time now) {
  for (const auto job_id : ctx_.jobs.take_overdue(now)) {
    end_groups(job_id, now);
    std::vector<LinkId> links;
    ctx_.links.each([&](const Link& link) {
      if (link.proven && link.role == wire::Role::client && link.job_id == job_id) links.push_back(link.id);
    });
    const auto seconds = std::chrono::duration_cast<Seconds>(ctx_.config.limits.leave_after_end).count();
    for (const LinkId link : links) {
      ctx_.outbox.drop(link, Error{Errc::lost, fmt::format("job {} ended {} s ago", job_id, seconds)});
      link_closed(link, now);
    }
  }
  ctx_.jobs.sweep();
}

// ---- messages from children -----------------------------------------------------------------------------

Node::Flaw Node::from_child(Link& link, const AggHeader& header, BufferRef& frame, Time now) {
  if (!link.proven) return below_.judge(link, header, frame, why_);
  switch (header.kind) {
    case AggKind::contribute: {
      ++ctx_.stats.messages_in;
      ctx_.stats.bytes_in += header.payload_bytes;
      return contribute(link, header, frame, now);
    }
    case AggKind::open: return use_body<wire::OpenBody>(frame, [&](const auto& body) { return open(link, body); });
    case AggKind::join:
      return use_body<wire::JoinBody>(frame, [&](const auto& body) { return join(link, header, body, now); });
    case AggKind::trouble:
      return use_body<wire::TroubleBody>(frame, [&](const auto& body) -> Flaw {
        if (NodeGroup* group = find(header.group_id); group != nullptr) return group->trouble(link, header, body, now);
        return unknown(header.group_id);
      });
    case AggKind::refused:
      return use_body<wire::RefusedBody>(frame,
                                         [&](const auto& body) { return refused_below(link, header, body, now); });
    case AggKind::name:
      return use_body<wire::NameBody>(frame, [&](const wire::NameBody& body) -> Flaw {
        link.name = body;
        return nullptr;
      });
    case AggKind::hello:
    case AggKind::proof: return "a second handshake";
    case AggKind::result:
      // This is the fault that the guard prevents: a child's message taken for the parent's.
      if (guard(Guard::direction, true)) break;
      return from_parent(header, frame, now);
    default: break;
  }
  return "a child does not say this";
}

/// The link's job is over: its number now belongs to another job, whose key this client never proved.
bool Node::is_former(const Link& link, const Job& job) noexcept {
  return link.role == wire::Role::client && link.job_life != job.life;
}

Node::Flaw Node::open(Link& link, const wire::OpenBody& body) {
  if (link.role == wire::Role::client && body.job_id != link.job_id)
    return "open: it names another job than this connection's";
  Job* job = ctx_.jobs.find_active(body.job_id);
  const TokenKey key{body.job_id, body.token};
  const auto no = [&](RefuseReason reason, std::uint32_t limit) {
    ctx_.refuse(link.id, ctx_.refusal(body.job_id, body.token, reason, AggKind::open, limit, 1));
    return nullptr;
  };
  if (job != nullptr && is_former(link, *job)) return no(RefuseReason::unknown_job, 0);
  if (job != nullptr && !job->grant.may_speak(link.role, link.peer)) return no(RefuseReason::bad_path, 0);
  if (!ctx_.config.root) {
    if (job == nullptr) return no(RefuseReason::unknown_job, 0);
    notes_.put(link.id, body);
    if (ctx_.parent) ctx_.control(ctx_.parent, ctx_.header(AggKind::open), body);
    return nullptr;
  }
  const auto answer = ctx_.ids.open(key, job);
  if (answer.group_id == GroupId{})
    return job == nullptr ? no(RefuseReason::unknown_job, 0)
                          : no(RefuseReason::no_group_id, job->grant.quota.max_groups);
  wire::OpenedBody opened;
  opened.job_id = body.job_id;
  opened.token = body.token;
  opened.group_id = answer.group_id;
  ctx_.control(link.id, ctx_.header(AggKind::opened), opened);
  return nullptr;
}

Node::Flaw Node::join(Link& link, const AggHeader& header, const wire::JoinBody& body, Time now) {
  const std::uint32_t number = id_number(header.group_id);
  if (number == 0) return "join: group number is 0";
  const bool is_client = link.role == wire::Role::client;
  const Job* job = ctx_.jobs.find(is_client ? link.job_id : body.job_id);
  // This check comes before a group is made, or one that stands is taken for an older one with this number: the number
  // belongs to another job.
  if (is_client && job != nullptr && !is_former(link, *job) && !job->grant.may_be_its(number))
    return "join: the group number belongs to another job";
  const auto no = [&](RefuseReason reason, std::uint32_t limit) {
    AggHeader h = ctx_.header(AggKind::refused, header.group_id);
    ctx_.control(link.id, h, ctx_.refusal(body.job_id, 0, reason, AggKind::join, limit, number));
    return nullptr;
  };
  if (number >= groups_.size()) return no(RefuseReason::node_limit, ctx_.config.limits.groups);
  if (job != nullptr && is_former(link, *job)) return no(RefuseReason::unknown_job, 0);
  if (job != nullptr && !(job->grant.may_speak(link.role, link.peer) && job->grant.may_be_its(number)))
    return no(RefuseReason::bad_path, 0);
  NodeGroup* group = find(header.group_id);
  if (group == nullptr) {
    if (is_client && job == nullptr) return no(RefuseReason::unknown_job, 0);
    if (ctx_.config.root && !ctx_.ids.in_use(header.group_id, body.job_id)) return no(RefuseReason::unknown_group, 0);
    group = begin(header.group_id, now);
    if (group == nullptr) return no(RefuseReason::unknown_group, 0);
  }
  return group->join(link, header, body, now);
}

Node::Flaw Node::refused_below(Link& link, const AggHeader& header, const wire::RefusedBody& body, Time now) {
  if (link.role != wire::Role::node || body.what != AggKind::join || header.group_id == GroupId{})
    return "refused: only a node refuses, and only a join";
  if (!ctx_.jobs.may_speak(NodeId{link.peer}, id_number(header.group_id)))
    return "refused: the job has no ranks below this child";
  NodeGroup* group = find(header.group_id);
  if (group == nullptr) group = begin(header.group_id, now);
  if (group != nullptr) {
    group->refused_below(link.id, body, now);
  } else {
    // The group was over long ago: the child only needs the confirmation.
    ctx_.control(link.id, ctx_.header(AggKind::refused, header.group_id), body);
  }
  return nullptr;
}

Node::Flaw Node::contribute(Link& link, const AggHeader& header, BufferRef& frame, Time now) {
  NodeGroup* group = find(header.group_id);
  if (group == nullptr && header.coll == wire::Coll::leave && link.role == wire::Role::node &&
      ctx_.jobs.may_speak(NodeId{link.peer}, id_number(header.group_id)))
    group = begin(header.group_id, now);  // the group may have stood only below this child
  if (group != nullptr) return group->contribute(link, header, std::move(frame), now);
  const std::uint32_t number = id_number(header.group_id);
  NodeGroup* other = number < groups_.size() ? groups_[number].get() : nullptr;
  if (other == nullptr || !id_newer(other->id(), header.group_id)) {
    if (guard(Guard::own_group, true)) return "contribute: this connection did not join the group";
    return nullptr;
  }
  if (!guard(Guard::group_reuse, true)) return other->contribute(link, header, std::move(frame), now);
  other->answer_over(link.id, header);
  return nullptr;
}

// ---- messages from the parent ---------------------------------------------------------------------------

Node::Flaw Node::from_parent(const AggHeader& header, BufferRef& frame, Time now) {
  NodeGroup* group = header.group_id == GroupId{} ? nullptr : find(header.group_id);
  const auto late = [&]() -> Flaw {
    ++ctx_.stats.late_copies;
    return nullptr;
  };
  switch (header.kind) {
    case AggKind::result:
      ++ctx_.stats.messages_in;
      ctx_.stats.bytes_in += header.payload_bytes;
      return group == nullptr ? late() : group->result(header, frame, now);
    case AggKind::closed:
      if (group == nullptr) return late();
      group->closed(header, now);
      return nullptr;
    case AggKind::opened: return use_body<wire::OpenedBody>(frame, [&](const auto& body) { return opened(body); });
    case AggKind::invited:
      return use_body<wire::InvitedBody>(frame, [&](const auto& body) -> Flaw {
        if (group == nullptr) return late();
        group->invited(body);
        return nullptr;
      });
    case AggKind::datagrams:
      return use_body<wire::DatagramsBody>(frame, [&](const auto& body) -> Flaw {
        if (group == nullptr) return late();
        group->datagrams(body);
        return nullptr;
      });
    case AggKind::joined:
      return use_body<wire::JoinedBody>(frame, [&](const auto& body) -> Flaw {
        return group == nullptr ? late() : group->joined(header, body, now);
      });
    case AggKind::refused:
      return use_body<wire::RefusedBody>(frame, [&](const auto& body) -> Flaw {
        if (body.what == AggKind::hello) return turned_away(body);
        if (body.what == AggKind::open) return open_refused(body);
        if (group == nullptr) return late();
        group->refused_above(body, now);
        return nullptr;
      });
    case AggKind::verdict:
      return use_body<wire::VerdictBody>(frame, [&](const auto& body) -> Flaw {
        return group == nullptr ? late() : group->verdict(header, body, now);
      });
    case AggKind::over:
      return use_body<wire::OverBody>(frame, [&](const auto& body) -> Flaw {
        if (group == nullptr) return late();
        group->over_above(header, body, now);
        return nullptr;
      });
    case AggKind::welcome: return late();
    default: return "a parent does not say this";
  }
}

Node::Flaw Node::opened(const wire::OpenedBody& body) {
  if (const LinkId link = notes_.take({body.job_id, body.token}); link) {
    ctx_.control(link, ctx_.header(AggKind::opened), body);
  } else {
    ++ctx_.stats.late_copies;
  }
  return nullptr;
}

Node::Flaw Node::open_refused(const wire::RefusedBody& body) {
  if (const LinkId link = notes_.take({body.job_id, body.token}); link) {
    ctx_.control(link, ctx_.header(AggKind::refused), body);
  } else {
    ++ctx_.stats.late_copies;
  }
  return nullptr;
}

// ---- the table of groups --------------------------------------------------------------------------------

NodeGroup* Node::find(GroupId group_id) noexcept {
  const std::uint32_t number = id_number(group_id);
  if (number == 0 || number >= groups_.size()) return nullptr;
  NodeGroup* group = groups_[number].get();
  return group != nullptr && group->id() == group_id ? group : nullptr;
}

/// Begins a group of which nothing is known yet. Returns null when the id is older than the number's present one.
NodeGroup* Node::begin(GroupId group_id, Time now) {
  const std::uint32_t number = id_number(group_id);
  if (number == 0 || number >= groups_.size()) return nullptr;
  auto& group = groups_[number];
  if (!group) {
    group = std::make_unique<NodeGroup>(ctx_, number);
  } else {
    if (guard(Guard::join_late, !id_newer(group_id, group->id()))) return nullptr;
    if (group->active()) {
      if (!guard(Guard::reuse_ends_old, true)) return nullptr;
      group->end_by_answer(now);
    }
  }
  group->begin(group_id);
  return group.get();
}

Node::Flaw Node::unknown(GroupId group_id) noexcept {
  const std::uint32_t number = id_number(group_id);
  const bool was_here = number < groups_.size() && groups_[number] && id_newer(groups_[number]->id(), group_id);
  if (!was_here) return "this connection did not join the group";
  ++ctx_.stats.late_copies;
  return nullptr;
}

// ---- helpers --------------------------------------------------------------------------------------------

void Node::malformed(LinkId from, const BufferRef& frame, Time now) {
  auto why = wire::decode_agg_header(frame.bytes(), payload_max_);
  ++ctx_.stats.offences;
  ctx_.outbox.drop(from,
                   why ? Error{Errc::invalid, "malformed message"} : within("malformed message", why.error()).value());
  link_closed(from, now);
}

void Node::drop(LinkId from, Flaw flaw, const AggHeader& header, Time now) {
  ++ctx_.stats.offences;
  ctx_.outbox.drop(from, Error{Errc::invalid, fmt::format("{}{} ({})", flaw, why_, wire::describe(header))});
  why_.clear();
  link_closed(from, now);
}

void Node::on_link_up(LinkId link, const wire::Nonce& nonce, Time) {
  if (link && ctx_.links.find(link) == nullptr) ctx_.links.add(link).nonce = nonce;
}
std::optional<wire::Role> Node::proven(LinkId id) const noexcept {
  const Link* link = ctx_.links.find(id);
  if (link == nullptr || !link->proven) return std::nullopt;
  return link->role;
}
void Node::on_link_closed(LinkId link, Time now, const LinkEnd& how) {
  link_closed(link, now, wire::TroubleReason::lost_connection, how);
}
std::size_t Node::on_neighbour_silent(LinkId id, Time now, const LinkEnd& how) {
  std::size_t ended = 0;
  note_lost(id, how);
  if (id && id == ctx_.parent) {
    for (auto& group : groups_)
      if (group) ended += group->parent_silent(now);
  } else if (Link* link = ctx_.links.find(id); link != nullptr) {
    for (std::size_t number = 1; number < link->child_of.size(); ++number)
      if (const auto child = link->child_of[number]; child != kNoChild)
        ended += groups_[number]->child_silent(id, child, now);
  }
  ctx_.jobs.sweep();
  return ended;
}
void Node::rank_died(LinkId link, Time now) { link_closed(link, now, wire::TroubleReason::dead_rank); }

std::string who(wire::Role role, std::uint32_t peer, std::string_view name) {
  if (role == wire::Role::node) return name.empty() ? fmt::format("node {}", peer) : fmt::format("node {}", name);
  return fmt::format("rank {}{}{}", peer, name.empty() ? "" : " on host ", name);
}

std::vector<LinkId> Node::links_of(JobId job_id, WorldRank world_rank, std::string_view host) const {
  std::vector<LinkId> found;
  ctx_.links.each([&](const Link& link) {
    const auto name = wire::text_of(link.name);
    if (link.proven && link.role == wire::Role::client && link.job_id == job_id && link.peer == number_of(world_rank) &&
        (name.empty() || name == host))
      found.push_back(link.id);
  });
  return found;
}

std::vector<LinkId> Node::links_of_former(JobId job_id) const {
  const Job* job = ctx_.jobs.find(job_id);
  std::vector<LinkId> found;
  ctx_.links.each([&](const Link& link) {
    const bool is_its = link.proven && link.role == wire::Role::client && link.job_id == job_id;
    if (is_its && (job == nullptr || job->life != link.job_life)) found.push_back(link.id);
  });
  return found;
}

std::string Node::who(LinkId id) const {
  const Link* link = ctx_.links.find(id);
  if (link == nullptr || !link->proven) return {};
  return proto::who(link->role, link->peer, wire::text_of(link->name));
}

std::optional<NodeId> Node::node_at(LinkId id) const {
  const Link* link = ctx_.links.find(id);
  if (link == nullptr || !link->proven || link->role != wire::Role::node) return std::nullopt;
  return NodeId{link->peer};
}

std::vector<GroupView> Node::groups() const {
  std::vector<GroupView> views;
  for (const auto& group : groups_)
    if (group && group->active()) views.push_back(group->view());
  return views;
}

std::size_t table_bytes(const NodeLimits& limits, std::size_t links) noexcept {
  // Streaming rings are as long as the widest window; LLT rings share the node's OSTs.
  const std::size_t groups = limits.groups + kFinishedKept;
  return groups * NodeGroup::bytes(1, limits.stream_window_max) + NodeGroup::bytes(limits.osts, 0) +
         links * (sizeof(Link) + (limits.groups + 1) * sizeof(std::uint16_t) + 64);
}

std::vector<GroupView> Node::finished() const { return {ctx_.finished.begin(), ctx_.finished.end()}; }

bool Node::idle() const noexcept {
  for (const auto& group : groups_)
    if (group && group->active()) return false;
  return true;
}

}  // namespace sumac::proto
