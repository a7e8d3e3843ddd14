#include "sim/world.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "proto/path.hpp"
#include "sim/data.hpp"
#include "sim/judge.hpp"
#include "sim/members.hpp"
#include "sim/mischief.hpp"
#include "wire/proof.hpp"

namespace sumac::sim {
namespace {

constexpr TreeId kTree{77};
constexpr NodeId id_of(EndId node) { return NodeId{100 + node}; }
constexpr Duration kTickEvery = Millis(4);
constexpr Duration kTimeLimit = Seconds(200);
constexpr std::uint64_t kDeliveriesMax = 30'000'000;
constexpr std::size_t kCanary = 8;
constexpr std::uint32_t kOpenTries = 40;

class World {
 public:
  World(const Plan& plan, int verbose)
      : plan_(plan),
        verbose_(verbose),
        random_(plan.seed ^ 0xabcdef),
        nonces_(plan.seed ^ 0x6e6f6e6365),
        network_(plan.faults, plan.seed,
                 {[this](EndId to, proto::LinkId link, BufferRef frame, Time now) {
                    deliver(to, link, std::move(frame), now);
                  },
                  [this](std::uint64_t what, Time now) { alarm(what, now); }}) {
    report_.seed = plan.seed;
    if (verbose >= 2) network_.print_events();
  }

  Report run() {
    build();
    while (failure_.empty() && !finished()) {
      if (!network_.step()) fail("nothing is left to happen, but not all members are done");
      if (network_.now() > Time{} + kTimeLimit || network_.deliveries() > kDeliveriesMax)
        fail(fmt::format("stuck after {} messages:{}", network_.deliveries(), still_waiting(sessions_)));
    }
    if (failure_.empty()) final_checks();
    report_.failure = failure_;
    if (!failure_.empty()) report_.last_events = network_.last_events(verbose_ != 0 ? 400 : 40);
    report_.messages = network_.deliveries();
    report_.virtual_seconds = static_cast<double>(network_.now().time_since_epoch().count()) / 1e9;
    return report_;
  }

 private:
  enum Alarm : std::uint64_t { tick = 1, poke, begin_session, join, retry_open, link_back };
  static constexpr std::uint64_t code(Alarm kind, std::uint64_t index) {
    return static_cast<std::uint64_t>(kind) << 56 | index;
  }

  void fail(std::string text) {
    if (failure_.empty()) failure_ = std::move(text);
  }
  bool is(Scenario scenario) const { return plan_.scenario == scenario; }
  wire::Nonce nonce() { return draw_nonce(nonces_); }

  // ---- building -------------------------------------------------------------------------------------------

  void build() {
    const auto node_count = static_cast<EndId>(plan_.parent.size());
    for (EndId i = 0; i < node_count; ++i) {
      nodes_.push_back(std::make_unique<NodeBox>(network_, i));
      nodes_[i]->engine = std::make_unique<proto::Node>(proto::NodeConfig{.node_id = id_of(i),
                                                                          .tree_id = kTree,
                                                                          .root = i == 0,
                                                                          .limits = plan_.limits,
                                                                          .node_key = nonce(),
                                                                          .address = fmt::format("sim:{}", i),
                                                                          .multicast_to_one_level = true},
                                                        *nodes_[i]);
      if (plan_.multicast) nodes_[i]->listeners = &clients_;
      if (auto granted = nodes_[i]->engine->grant(plan_.grant); !granted) fail("grant: " + granted.error().context);
      tree_.push_back({id_of(i), id_of(plan_.parent[i])});
    }
    for (EndId i = 1; i < node_count; ++i) connect_parent(i, Time{});
    for (std::uint32_t rank = 0; rank < plan_.leaf.size(); ++rank) add_client(WorldRank{rank}, plan_.leaf[rank]);
    for (std::uint32_t track = 0; track < plan_.tracks.size(); ++track) {
      next_session_.push_back(0);
      network_.alarm(Time{} + Micros(random_.between(0, 2000)), code(begin_session, track));
    }
    network_.alarm(Time{} + kTickEvery, code(tick, 0));
  }

  void connect_parent(EndId node, Time now) {
    const EndId parent = plan_.parent[node];
    const auto link = network_.connect(node, parent);
    nodes_[node]->parent = link;
    const auto& above = nodes_[parent]->engine->config();
    proto::ParentInfo info{above.node_id, {}, above.address};
    if (!wire::make_pair_key(above.node_key, kTree, id_of(node), above.node_id, info.key))
      return fail("no key of a pair of nodes can be made");
    nodes_[parent]->engine->on_link_up(link, nonce(), now);
    nodes_[node]->engine->set_parent_link(link, info, nonce(), now);
  }

  Client& add_client(WorldRank world_rank, EndId node) {
    auto client = std::make_unique<Client>(network_, static_cast<EndId>(plan_.parent.size() + clients_.size()));
    client->world_rank = world_rank;
    client->node = node;
    client->link = network_.connect(client->end, node);
    nodes_[node]->engine->on_link_up(client->link, nonce(), network_.now());
    auto config = plan_.link_config(world_rank, kTree);
    config.leaf = {id_of(node), plan_.grant.job_key, nodes_[node]->engine->config().address};
    client->engine = std::make_unique<proto::ClientLink>(config, *client);
    client->engine->set_link(client->link, nonce(), network_.now());
    clients_.push_back(std::move(client));
    return *clients_.back();
  }

  // ---- events ---------------------------------------------------------------------------------------------

  void deliver(EndId to, proto::LinkId link, BufferRef frame, Time now) {
    if (to < nodes_.size()) {
      wire::AggHeader header;
      const bool readable = wire::decode(frame.bytes(), wire::kPayloadMax, header) == Errc::ok;
      nodes_[to]->engine->on_message(link, std::move(frame), now);
      act_on_drops(to, now);
      if (readable) after_node_heard(network_.other_end(link, to), header, now);
    } else {
      Client& client = client_of(to);
      if (client.dead) return;
      if (link)
        take(client, std::move(frame), now);
      else
        hear(client, frame, now);
      if (!client.dropped.empty())
        return fail(fmt::format("client {} dropped its node: {}", client.world_rank, client.dropped));
      drive(client, now);
    }
  }

  /// Every second result with a known destination is received there, and reception begins there for every third of the
  /// rest.
  void take(Client& client, BufferRef frame, Time now) {
    const auto head = std::span<const std::byte>(frame.bytes()).first<wire::kAggHeaderBytes>();
    const auto payload = frame.bytes().subspan(head.size());
    const auto to = client.engine->place(head, payload.size());
    if (to.empty() || ++placings_ % 6 == 5) return client.engine->on_message(std::move(frame), now);
    if (to.size() != payload.size()) return fail("a result's place has another size");
    const bool is_whole = placings_ % 2 == 0;
    std::copy_n(payload.begin(), is_whole ? payload.size() : payload.size() / 2, to.begin());
    if (is_whole) return client.engine->on_placed(head, now);
    client.engine->on_message(std::move(frame), now);
  }

  Client& client_of(EndId end) { return *clients_[end - plan_.parent.size()]; }

  /// Strikes in scenarios that wait until a node has received a message of the victim.
  void after_node_heard(EndId from, const wire::AggHeader& header, Time now) {
    if (victim_ == nullptr || from < nodes_.size() || &client_of(from) != clients_[victim_->client].get() ||
        client_of(from).dead)
      return;
    if (header.group_id != victim_->session->group_id) return;
    const bool join_heard = is(Scenario::lost_joining) && header.kind == wire::AggKind::join;
    const bool leave_heard =
        is(Scenario::hasty_leave) && header.kind == wire::AggKind::contribute && header.coll == wire::Coll::leave;
    if (join_heard || leave_heard) kill(client_of(from), now);
  }

  void act_on_drops(EndId node, Time now) {
    auto drops = std::move(nodes_[node]->drops);
    nodes_[node]->drops.clear();
    for (const auto& [link, why] : drops) {
      const EndId other = network_.other_end(link, node);
      network_.note(fmt::format("node {} drops end {}: {}", node, other, why));
      if (other < nodes_.size()) return fail(fmt::format("node {} dropped node {}: {}", node, other, why));
      Client& client = client_of(other);
      network_.close(link);
      if (&client == rogue_) {
        rogue_dropped_ = true;
        client.dead = true;
      } else if (is(Scenario::far_number) && victim_ != nullptr && &client == clients_[victim_->client].get()) {
        rogue_dropped_ = true;
        bury(client, now);
      } else {
        fail(fmt::format("node {} dropped client {}: {}", node, client.world_rank, why));
      }
    }
  }

  void alarm(std::uint64_t what, Time now) {
    const std::uint64_t index = what & ((1ull << 56) - 1);
    switch (static_cast<Alarm>(what >> 56)) {
      case tick: return do_tick(now);
      case poke:
        if (!clients_[index]->dead) drive(*clients_[index], now);
        return;
      case begin_session: return start_session(static_cast<std::uint32_t>(index), now);
      case join: return start_member(*members_[index], now);
      case retry_open: return open(*sessions_[index], now);
      case link_back: return connect_parent(static_cast<EndId>(index), now);
    }
  }

  void do_tick(Time now) {
    for (auto& node : nodes_)
      if (node->engine->next_due() <= now) {
        node->engine->tick(now);
        act_on_drops(node->end, now);
      }
    for (auto& client : clients_)
      if (!client->dead && client->engine->next_due() <= now) {
        client->engine->tick(now);
        drive(*client, now);
      }
    network_.alarm(now + kTickEvery, code(tick, 0));
  }

  // ---- sessions -------------------------------------------------------------------------------------------

  void start_session(std::uint32_t track, Time now) {
    const std::uint32_t index = next_session_[track]++;
    if (index >= plan_.tracks[track].size()) return;
    auto session = std::make_unique<Session>();
    session->plan = &plan_.tracks[track][index];
    session->track = track;
    session->index = index;
    session->key = plan_.seed * 64 + track * 16 + index;
    session->expected.resize(session->plan->ops.size());
    const auto size = static_cast<std::uint32_t>(session->plan->members.size());
    session->unfinished = size;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      auto member = std::make_unique<Member>();
      member->session = session.get();
      member->id = static_cast<std::uint32_t>(members_.size());
      member->rank = rank;
      member->client = session->plan->members[rank];
      member->depth = static_cast<std::uint32_t>(1 + random_.below(8));
      member->buffers.resize(session->plan->ops.size());
      clients_[member->client]->members.push_back(member.get());
      session->members.push_back(member.get());
      members_.push_back(std::move(member));
    }
    if (track == 0 && index == plan_.victim_session) {
      victim_ = session->members[plan_.victim];
      victim_leaf_ = plan_.leaf[victim_->client];
      if (has_rogue(plan_.scenario))
        rogue();  // it proves itself long before it acts, so that only its later messages matter
    }
    sessions_.push_back(std::move(session));
    Session& s = *sessions_.back();
    s.crosses_lost_link = link_was_lost_ && crosses(s, victim_leaf_);
    network_.note(fmt::format("session {}.{} begins with {} members", track, index, size));
    open(s, now);
  }

  std::size_t number_of(const Session& session) const {
    return static_cast<std::size_t>(
        std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& s) { return s.get() == &session; }) -
        sessions_.begin());
  }

  void open(Session& session, Time now) {
    Client& first = *clients_[session.members[0]->client];
    session.token = std::uint64_t{sumac::number_of(first.world_rank)} << 32 | ++first.tokens;
    session.opened_after_revoke = revoked_;
    ++session.open_tries;
    first.engine->open(session.token, static_cast<std::uint32_t>(session.members.size()), now);
  }

  void check_open(Session& session, Client& first, Time now) {
    const auto outcome = first.engine->open_outcome(session.token);
    if (outcome.state == proto::OpenOutcome::State::pending) return;
    const std::uint64_t token = std::exchange(session.token, 0);
    if (random_.chance(0.5)) first.engine->forget_open(token);  // otherwise late copies of the answer still find it
    if (outcome.state == proto::OpenOutcome::State::opened) {
      session.group_id = outcome.group_id;
      // The caller's own means inform the others.
      for (Member* member : session.members)
        network_.alarm(now + Micros(random_.between(0, 2000)), code(join, member->id));
      return;
    }
    if (outcome.state == proto::OpenOutcome::State::lost) return fail("an Open was lost though its connection stands");
    if (outcome.refusal.reason == wire::RefuseReason::no_group_id && session.open_tries < kOpenTries)
      return network_.alarm(now + Millis(random_.between(10, 60)), code(retry_open, number_of(session)));
    for (Member* member : session.members) {
      member->refusal = outcome.refusal;
      finish(*member, Member::Fate::refused, now);
    }
  }

  void start_member(Member& member, Time now) {
    Client& client = *clients_[member.client];
    if (member.fate != Member::Fate::running || client.dead) return;
    const Session& session = *member.session;
    std::vector<NodeId> leaves;
    for (const std::uint32_t rank : session.plan->members) leaves.push_back(id_of(plan_.leaf[rank]));
    auto path = proto::compute_path(member.rank, leaves, tree_);
    if (!path) return fail(path.error().context);
    proto::ClientGroupConfig config{.job_id = plan_.grant.job_id,
                                    .tree_id = kTree,
                                    .group_id = session.group_id,
                                    .rank = member.rank,
                                    .world_rank = client.world_rank,
                                    .group_size = static_cast<std::uint32_t>(leaves.size()),
                                    .path = *path,
                                    .osts = proto::ost_share(plan_.grant.quota.osts, plan_.grant.quota.max_groups),
                                    .stream_window = plan_.grant.quota.stream_window,
                                    .payload_per_ost = plan_.grant.quota.payload_per_ost,
                                    .chunk_bytes = plan_.grant.quota.chunk_bytes,
                                    .pipeline_depth = static_cast<std::uint32_t>(1 + random_.below(8)),
                                    .resend_after = plan_.limits.resend_after};
    if (&member == victim_) {
      if (is(Scenario::bad_join)) ++config.group_size;
      if (is(Scenario::false_join)) rogue_join(config, now);
    }
    auto group = proto::ClientGroup::make(config, client, client.link);
    if (!group) return fail(group.error().context);
    member.group = std::move(*group);
    client.engine->attach(*member.group);
    member.group->start(now);
  }

  void drive(Client& client, Time now) {
    for (std::size_t i = 0; i < client.members.size() && failure_.empty() && !client.dead;) {
      Member& member = *client.members[i];
      if (member.rank == 0 && member.session->token != 0) check_open(*member.session, client, now);
      if (member.group && member.fate == Member::Fate::running) drive(member, client, now);
      // finish() takes the member out of the list.
      if (i < client.members.size() && client.members[i] == &member) ++i;
    }
  }

  void drive(Member& member, Client& client, Time now) {
    using Phase = proto::ClientGroup::Phase;
    const SessionPlan& plan = *member.session->plan;
    for (;;) {
      while (auto completion = member.group->next_completion())
        if (!complete(member, *completion, now)) return;
      switch (member.group->phase()) {
        case Phase::joining: return;
        case Phase::refused:
          member.refusal = member.group->refusal();
          return finish(member, Member::Fate::refused, now);
        case Phase::left:
          return finish(
              member, member.group->why().empty() || member.group->verdict() ? Member::Fate::left : Member::Fate::lost,
              now);
        case Phase::lost: member.group->leave(now); continue;
        case Phase::leaving: return;
        case Phase::condemned:
          if (member.group->outstanding() == 0) member.group->leave(now);
          if (member.group->phase() == Phase::condemned) return;
          continue;
        case Phase::standing: break;
      }
      start_to_listen(member, plan_.seed);
      if (member.posted == plan.ops.size()) {
        if (member.group->outstanding() != 0) return client.send_held();
        member.group->leave(now);
        continue;
      }
      if (member.group->outstanding() >= member.depth) return client.send_held();
      if (now < member.think_until) return;
      if (random_.chance(0.05)) {
        member.think_until = now + Micros(random_.between(0, 3000));
        return network_.alarm(member.think_until, code(poke, member.client));
      }
      post(member, client, now);
      if (!failure_.empty()) return;
    }
  }

  void post(Member& member, Client& client, Time now) {
    const std::uint32_t index = member.posted;
    OpPlan op = planned(member, index);
    if (is(Scenario::disagree) && index == plan_.victim_op && victim_ != nullptr &&
        member.session == victim_->session &&
        (&member == victim_ || (plan_.more_victims && member.rank % 3 == plan_.victim % 3)))
      op = another(op, random_, plan_), member.differs_at = index;
    op = possible(member, op);
    Posted& buffers = member.buffers[index];
    auto operation = make_operation(op, index, static_cast<std::uint32_t>(member.session->members.size()), member.rank);
    buffers.src = make_input(operation, member.session->key, member.rank);
    const std::size_t given = buffers.src.size();
    const std::size_t kept =
        (std::min(operation.keep.to, operation.count) - std::min(operation.keep.from, operation.count)) *
        element_of(op);
    buffers.in_place = op.coll == wire::Coll::allreduce && random_.chance(0.25);
    (buffers.in_place ? buffers.src : buffers.dst).resize(kept + kCanary, std::byte{0xCC});
    auto& dst = buffers.in_place ? buffers.src : buffers.dst;
    operation.src = std::span(buffers.src).first(given);
    operation.dst = std::span(dst).first(kept);
    ++member.posted;
    const auto posted = member.group->post(operation, now);
    if (!posted)
      return fail(fmt::format("client {} could not post operation {}: {}", client.world_rank, index,
                              to_string(posted.error())));
    if (&member == victim_ && index == plan_.victim_op) rogue_contribute(client, member);
  }

  /// Returns false when the member is gone.
  bool complete(Member& member, const proto::Completion& completion, Time now) {
    Session& session = *member.session;
    const auto index = static_cast<std::uint32_t>(completion.token);
    const auto who = [&] {
      return fmt::format("session {}.{} rank {} operation {}", session.track, session.index, member.rank, index);
    };
    if (index != member.completed) return fail(who() + ": completed out of turn"), false;
    ++member.completed;
    member.status.push_back(completion.status);
    Posted& buffers = member.buffers[index];
    auto& dst = buffers.in_place ? buffers.src : buffers.dst;
    if (completion.status == Errc::ok && member.differs_at != index) {
      const OpPlan op = planned(member, index);
      auto& result = session.expected[index];
      const auto size = static_cast<std::uint32_t>(session.members.size());
      if (result.empty()) result = make_result(op, session.key, index, size);
      const auto operation = make_operation(op, index, size, member.rank);
      const std::size_t element = element_of(op);
      const std::size_t from = std::min(operation.keep.from, operation.count) * element;
      const std::size_t to = std::min(operation.keep.to, operation.count) * element;
      const auto expected = std::span(result).subspan(from, to - from);
      if (dst.size() != expected.size() + kCanary || !std::equal(expected.begin(), expected.end(), dst.begin()))
        return fail(who() + fmt::format(": wrong result ({} {} {} count {})", wire::to_string(op.coll),
                                        to_string(op.op), to_string(op.dtype), op.count)),
               false;
      if (!std::all_of(dst.end() - kCanary, dst.end(), [](std::byte b) { return b == std::byte{0xCC}; }))
        return fail(who() + ": wrote behind the result"), false;
    }
    buffers = {};
    if (&member == victim_ && index == plan_.victim_op) return !strike(member, now);
    return true;
  }

  /// Runs the scenario's special event. Returns true when the member is dead.
  bool strike(Member& member, Time now) {
    Client& client = *clients_[member.client];
    if (is(Scenario::lost_standing)) return kill(client, now), true;
    if (is(Scenario::revoked) && !revoked_) {
      revoked_ = true;
      network_.note("the job is revoked");
      for (auto& node : nodes_) node->engine->revoke(plan_.grant.job_id, now);
    }
    if (is(Scenario::lost_link) && victim_leaf_ != 0 && !link_was_lost_) {
      link_was_lost_ = true;
      for (auto& session : sessions_)
        if (!session->judged && crosses(*session, victim_leaf_)) session->crosses_lost_link = true;
      network_.note(fmt::format("node {} loses its parent", victim_leaf_));
      network_.close(nodes_[victim_leaf_]->parent);
      nodes_[victim_leaf_]->engine->on_link_closed(nodes_[victim_leaf_]->parent, now);
      nodes_[plan_.parent[victim_leaf_]]->engine->on_link_closed(nodes_[victim_leaf_]->parent, now);
      network_.alarm(now + Millis(random_.between(0, 300)), code(link_back, victim_leaf_));
    }
    if (is(Scenario::far_number))
      network_.send_raw(client.end, client.link, far_number(client.last_sent, *member.group, member.rank));
    return false;
  }

  bool crosses(const Session& session, EndId node) const {
    const auto below = [&](EndId at) {
      for (; at != 0; at = plan_.parent[at])
        if (at == node) return true;
      return false;
    };
    return std::any_of(session.members.begin(), session.members.end(),
                       [&](const Member* m) { return below(plan_.leaf[m->client]); });
  }

  void kill(Client& client, Time now) {
    network_.note(fmt::format("client {} is lost", client.world_rank));
    network_.close(client.link);
    nodes_[client.node]->engine->on_link_closed(client.link, now);
    act_on_drops(client.node, now);
    bury(client, now);
  }

  void bury(Client& client, Time now) {
    client.dead = true;
    for (const auto& members = client.members; !members.empty();) finish(*members.front(), Member::Fate::dead, now);
  }

  void finish(Member& member, Member::Fate fate, Time now) {
    if (member.fate != Member::Fate::running) return;
    Session& session = *member.session;
    member.fate = fate;
    if (member.group) {
      member.verdict = member.group->verdict();
      clients_[member.client]->engine->detach(*member.group);
      graves_.push_back(std::move(member.group));  // the group may be the one whose call is still running
    }
    std::erase(clients_[member.client]->members, &member);
    --session.unfinished;
    if (session.unfinished == 0) judge_session(session);
    if (!session.next_scheduled && (session.unfinished == 0 || (plan_.eager && fate == Member::Fate::left))) {
      session.next_scheduled = true;
      network_.alarm(now + Micros(random_.between(0, 1000)), code(begin_session, session.track));
    }
  }

  // ---- strangers ------------------------------------------------------------------------------------------

  Client& rogue() {
    if (rogue_ == nullptr) rogue_ = &add_client(WorldRank{5000}, victim_leaf_);
    rogue_->surely = true;
    return *rogue_;
  }

  void rogue_join(const proto::ClientGroupConfig& config, Time now) {
    Client& stranger = rogue();
    if (auto group = proto::ClientGroup::make(config, stranger, stranger.link)) {
      rogue_group_ = std::move(*group);
      network_.note("a stranger joins in the victim's name");
      rogue_group_->start(now);
      rogue_acted_ = true;
    }
  }

  void rogue_contribute(const Client& victim, const Member& member) {
    if (!is(Scenario::stranger) && !is(Scenario::false_parent) && !is(Scenario::garbage)) return;
    // The imitated message must belong to a group that stands: for a group that has left it would count as a late copy.
    if (victim.last_sent.group_id != member.session->group_id) return;
    Client& stranger = rogue();
    rogue_acted_ = true;
    const auto bytes =
        mischief(plan_.scenario, victim.last_sent, nodes_[victim_leaf_]->engine->groups(), random_.chance(0.5));
    network_.note("a stranger speaks");
    network_.send_raw(stranger.end, stranger.link, bytes);
  }

  // ---- the end --------------------------------------------------------------------------------------------

  bool finished() {
    for (std::uint32_t track = 0; track < plan_.tracks.size(); ++track)
      if (next_session_[track] <= plan_.tracks[track].size()) return false;
    if (!std::all_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s->judged; })) return false;
    graves_.clear();
    if (network_.in_flight() != 0) return false;
    if (all_done_at_ == kNever) all_done_at_ = network_.now();
    const bool idle = std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->engine->idle(); });
    return idle || network_.now() > all_done_at_ + Seconds(20);
  }

  void judge_session(Session& session) {
    session.judged = true;
    session.expected.clear();
    Judgement judgement{.plan = plan_, .session = session, .victim = victim_, .revoked = revoked_};
    fail(judgement.failure());
    if (failure_.empty()) report_.operations += judgement.operations();
    ++report_.groups;
    report_.refused += judgement.refused();
    report_.verdicts += judgement.verdict();
    for (const auto& node : nodes_) fail(given_too_much(*node));
  }

  void final_checks() {
    const bool expects_drop =
        (rogue_acted_ || (is(Scenario::far_number) && victim_ != nullptr && victim_->completed > plan_.victim_op));
    if (expects_drop && !rogue_dropped_) fail(fmt::format("{}: nobody was dropped for it", to_string(plan_.scenario)));
    for (const auto& node : nodes_) fail(left_behind(*node, revoked_));
    rogue_group_.reset();
    if (const auto held = network_.buffers_in_use(); held != 0) fail(fmt::format("{} buffers are still held", held));
  }

  const Plan& plan_;
  const int verbose_;
  Random random_, nonces_;
  std::uint64_t placings_ = 0;
  Network network_;
  std::vector<proto::NodeParent> tree_;
  std::vector<std::unique_ptr<NodeBox>> nodes_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<proto::ClientGroup>> graves_;
  std::unique_ptr<proto::ClientGroup> rogue_group_;
  std::vector<std::uint32_t> next_session_;
  Member* victim_ = nullptr;
  EndId victim_leaf_ = 0;
  Client* rogue_ = nullptr;
  bool rogue_acted_ = false, rogue_dropped_ = false;
  bool revoked_ = false, link_was_lost_ = false;
  Time all_done_at_ = kNever;
  std::string failure_;
  Report report_;
};

}  // namespace

Report run_seed(std::uint64_t seed, int verbose) {
  const Plan plan = make_plan(seed);
  World world(plan, verbose);
  return world.run();
}

}  // namespace sumac::sim
