#pragma once
// The world of one seed of recovery. What breaks in it, and the trees that come later, are in recovery_breaks.cpp. Where a manager
// gives the trees, job_world.cpp has what is different.
#include <fmt/core.h>

#include <algorithm>

#include "sim/data.hpp"
#include "sim/judge.hpp"
#include "sim/recovery_members.hpp"
#include "sim/recovery_seed.hpp"
#include "wire/proof.hpp"

namespace sumac::sim {

/// The first tree, and those that the job has again.
inline constexpr std::uint32_t kTrees = 4;
constexpr TreeId tree_id_of(std::uint32_t tree) { return TreeId{77 + tree}; }
inline constexpr Duration kTickEvery = Millis(4), kDatagramTickEvery = Micros(500);
/// Virtual time from the last event that breaks something until every member has ended.
inline constexpr Duration kTimeLimit = Seconds(2), kLossyTimeLimit = Seconds(10);
inline constexpr std::size_t kCanary = 8;
constexpr NodeId id_of(EndId node) { return NodeId{100 + node}; }

class LastingWorld {
 public:
  virtual ~LastingWorld() = default;
  LastingWorld(const RecoveryPlan& plan, int verbose)
      : plan_(plan),
        random_(plan.base.seed ^ 0x5eed),
        network_(plan.base.faults, plan.base.seed,
                 {[this](EndId to, proto::LinkId link, BufferRef frame, Time now) {
                    deliver(to, link, std::move(frame), now);
                  },
                  [this](std::uint64_t what, Time now) { alarm(what, now); },
                  [this](EndId to, proto::LinkId link, BufferRef frame, Time now) {
                    take_frame(to, link, frame.bytes(), now);
                  }}),
        verbose_(verbose) {
    report_.seed = plan.base.seed;
    if (verbose >= 2) network_.print_events();
    if (verbose >= 1) network_.log_frames();
  }

  Report run() {
    build();
    while (failure_.empty() && !finished()) {
      if (!network_.step()) fail("nothing is left to happen, but not all members are done");
      if (network_.now() > last_strike_ + time_limit()) fail("stuck:" + still_waiting(plan_, members_));
    }
    if (failure_.empty()) final_checks();
    report_.failure = failure_;
    if (!failure_.empty()) report_.last_events = network_.last_events(verbose_ != 0 ? 400 : 40);
    report_.messages = network_.deliveries();
    report_.groups = 1;
    report_.virtual_seconds = static_cast<double>(network_.now().time_since_epoch().count()) / 1e9;
    return report_;
  }

 protected:
  enum Alarm : std::uint64_t {
    tick = 1,
    poke,
    join,
    strike_now,
    node_lost,
    node_silent,
    leaf_lost,
    peer_lost,
    word_dead,
    word_departed,
    word_departed_from,
    trees_come,
    tree_comes,
    node_dies,
    derived  ///< A derived world has set it.
  };
  static constexpr std::uint64_t code(Alarm kind, std::uint64_t a, std::uint64_t b = 0) {
    return static_cast<std::uint64_t>(kind) << 56 | a << 24 | b;
  }

  void fail(std::string text) {
    if (failure_.empty()) failure_ = std::move(text);
  }
  Time soon(Duration most) { return network_.now() + Nanos(random_.between(0, most.count())); }
  void note(std::string text) { network_.note(std::move(text)); }

  // ---- building -----------------------------------------------------------------------------------------------

  void build() {
    build_trees();
    if (!failure_.empty()) return;
    for (std::uint32_t rank = 0; rank < plan_.ranks(); ++rank) add_member(rank);
    for (auto& each : members_)
      for (auto& other : members_)
        if (each->rank < other->rank) connect_members(*each, *other);
    network_.alarm(network_.now() + tick_every(), code(tick, 0));
    members_[0]->client.engine->open(1, plan_.ranks(), network_.now());
    if (plan_.strikes_early)
      for (std::size_t i = 0; i < plan_.strikes.size(); ++i) network_.alarm(soon(Millis(3)), code(strike_now, i));
  }

  /// Makes all nodes, and the first generation.
  virtual void build_trees() {
    const EndId node_count = kTrees * tree_size();
    for (EndId i = 0; i < node_count; ++i) {
      nodes_.push_back(std::make_unique<LastingNode>(network_, i));
      proto::JobGrant grant = plan_.base.grant;
      if (i >= tree_size() && !plan_.later_stream) grant.quota.stream_window = 0;
      make_engine(*nodes_[i], {.node_id = id_of(i),
                               .tree_id = tree_id_of(i / tree_size()),
                               .root = i % tree_size() == 0,
                               .limits = plan_.base.limits,
                               .node_key = draw_nonce(random_),
                               .address = fmt::format("sim:{}", i),
                               .multicast_to_one_level = true});
      if (plan_.base.multicast) nodes_[i]->members = &members_;
      if (plan_.datagrams) add_kernel(*nodes_[i]);
      if (auto granted = nodes_[i]->engine->grant(grant); !granted) fail("grant: " + granted.error().context);
    }
    for (EndId i = 0; i < node_count; ++i)
      if (i % tree_size() != 0) {
        const auto& above = nodes_[parent_of(i)]->engine->config();
        proto::ParentInfo info{above.node_id, {}, above.address};
        if (!wire::make_pair_key(above.node_key, tree_id_of(i / tree_size()), id_of(i), above.node_id, info.key))
          return fail("no key of a pair of nodes can be made");
        connect_nodes(i, parent_of(i), info);
      }
    for (std::uint32_t tree = 0; tree < kTrees; ++tree) {
      Generation& made = generations_.emplace_back(Generation{.id = tree_id_of(tree)});
      for (const std::uint32_t leaf : plan_.base.leaf) made.leaves.push_back(leaf + tree * tree_size());
      for (EndId i = tree * tree_size(); i < (tree + 1) * tree_size(); ++i)
        made.nodes.push_back({id_of(i), id_of(parent_of(i))});
    }
  }

  void make_engine(LastingNode& node, const proto::NodeConfig& config) {
    node.is_dead = false;
    node.engine = std::make_unique<proto::Node>(config, node);
  }

  EndId tree_size() const { return static_cast<EndId>(plan_.base.parent.size()); }
  EndId parent_of(EndId node) const { return node / tree_size() * tree_size() + plan_.base.parent[node % tree_size()]; }

  void connect_nodes(EndId node, EndId parent, const proto::ParentInfo& info) {
    const auto link = network_.connect(node, parent);
    nodes_[node]->parent = link;
    for (const EndId each : {node, parent}) nodes_[each]->links.push_back(link);
    nodes_[parent]->engine->on_link_up(link, draw_nonce(random_), network_.now());
    nodes_[node]->engine->set_parent_link(link, info, draw_nonce(random_), network_.now());
  }

  void add_member(std::uint32_t rank) {
    auto member = std::make_unique<LastingMember>(network_, static_cast<EndId>(nodes_.size() + rank), rank);
    member->buffers.resize(plan_.ops.size());
    member->peers.resize(plan_.ranks());
    member->notes = verbose_ != 0;
    auto* self = member.get();
    member->join_tree = [this, self](TreeId tree, GroupId group, Time now) {
      return join_later(*self, tree, group, now);
    };
    connect_leaf(member->client, rank, 0, network_.now());
    members_.push_back(std::move(member));
  }

  void connect_leaf(Client& client, std::uint32_t rank, std::uint32_t tree, Time now) {
    client.world_rank = WorldRank{rank};
    client.node = generations_[tree].leaves[rank];
    client.link = network_.connect(client.end, client.node);
    nodes_[client.node]->links.push_back(client.link);
    nodes_[client.node]->engine->on_link_up(client.link, draw_nonce(random_), now);
    auto config = plan_.base.link_config(client.world_rank, generations_[tree].id);
    const auto& leaf = nodes_[client.node]->engine->config();
    config.leaf = {leaf.node_id, plan_.base.grant.job_key, leaf.address};
    client.engine = std::make_unique<proto::ClientLink>(config, client);
    client.engine->set_link(client.link, draw_nonce(random_), now);
  }

  void connect_members(LastingMember& a, LastingMember& b) {
    a.peers[b.rank] = b.peers[a.rank] = network_.connect(a.client.end, b.client.end);
  }

  // ---- events -------------------------------------------------------------------------------------------------

  LastingMember* member_at(EndId end) { return end < nodes_.size() ? nullptr : members_[end - nodes_.size()].get(); }

  void deliver(EndId to, proto::LinkId link, BufferRef frame, Time now) {
    LastingMember* member = member_at(to);
    if (member == nullptr) {
      if (nodes_[to]->is_dead) return;
      nodes_[to]->engine->on_message(link, std::move(frame), now);
      return act_on_drops(to);
    }
    if (member->dies) return;
    if (!link) {
      wire::AggHeader header;
      wire::load(header, frame.data());
      if (member->group && member->group->on_tree().listening())
        (void)member->group->on_tree().on_multicast(header, frame, now);
    } else if (Client* client = client_of(*member, link); client != nullptr) {
      take(*client, std::move(frame), now);
    } else if (member->group) {
      LastingMember& from = *member_at(network_.other_end(link, to));
      if (link != member->peers[from.rank]) lose_peer(*member, from, now);
      if (const auto life = proto::recovery::group_of(frame.bytes()); life && member->group->has_left(*life)) {
        // Whoever asks for a life that this member has left is told so.
        departures_.push_back({from.rank, member->rank, *life});
        network_.alarm(soon(Micros(100)), code(word_departed_from, static_cast<std::uint32_t>(departures_.size() - 1)));
      }
      member->group->on_message(from.rank, frame.bytes(), now);
    } else {
      early_.push_back(
          {member->rank, member_at(network_.other_end(link, to))->rank, {frame.bytes().begin(), frame.bytes().end()}});
    }
    drive(*member, now);
  }

  Client* client_of(LastingMember& member, proto::LinkId link) {
    if (link == member.client.link) return &member.client;
    for (auto& each : member.later)
      if (each && each->link == link) return each.get();
    return nullptr;
  }

  /// Some results are received in the user's memory, and some begin there and come as a message after all.
  void take(Client& client, BufferRef frame, Time now) {
    const auto head = std::span<const std::byte>(frame.bytes()).first<wire::kAggHeaderBytes>();
    const auto payload = frame.bytes().subspan(head.size());
    const auto to = client.engine->place(head, payload.size());
    const bool is_placed = to.size() == payload.size() && !to.empty();
    const bool breaks_off = is_placed && nodes_[client.node]->is_dead && random_.chance(0.7);
    if (!breaks_off && (!is_placed || ++placings_ % 6 == 5)) return client.engine->on_message(std::move(frame), now);
    const bool is_whole = !breaks_off && placings_ % 2 == 0;
    std::copy_n(payload.begin(), is_whole ? payload.size() : payload.size() / 2, to.begin());
    if (is_whole) return client.engine->on_placed(head, now);
    if (breaks_off) return lose_link(client.link, client.end, now);
    client.engine->on_message(std::move(frame), now);
  }

  virtual void act_on_drops(EndId node) {
    for (const auto& [link, why] : std::exchange(nodes_[node]->drops, {}))
      fail(fmt::format("node {} drops end {}: {}", node, network_.other_end(link, node), why));
  }

  void alarm(std::uint64_t what, Time now) {
    const auto a = static_cast<std::uint32_t>(what >> 24 & 0xFFFFFFFFu),
               b = static_cast<std::uint32_t>(what & 0xFFFFFFu);
    switch (static_cast<Alarm>(what >> 56)) {
      case tick: return do_tick(now);
      case poke: return drive(*members_[a], now);
      case join: return start_member(*members_[a], now);
      case strike_now: return do_strike(plan_.strikes[a], now);
      case node_lost: return lose_link({a}, b, now);
      case node_silent: return hear_nothing({a}, b, now);
      case leaf_lost: return lose_leaf(*members_[a], now);
      case word_departed_from: {
        const Departure& each = departures_[a];
        LastingMember& member = *members_[each.to];
        if (member.dies || !member.group || member.has_ended) return;
        member.group->departed(each.life, each.who, now);
        return drive(member, now);
      }
      case derived: return do_derived(a, now);
      case node_dies: network_.alarm(soon(Millis(10)), code(trees_come, 0)); return kill_node(*nodes_[a]);
      case trees_come: return let_trees_come(now);
      case tree_comes: return let_tree_come(*members_[a], b, now);
      case peer_lost: return lose_peer(*members_[a], *members_[b], now);
      case word_dead:
      case word_departed: {
        LastingMember& member = *members_[a];
        if (member.dies || !member.group || member.has_ended) return;
        if (static_cast<Alarm>(what >> 56) == word_dead)
          member.group->dead(b, now);
        else if (member.group->epoch() > 0)
          member.group->departed(members_[b]->group->current().key(), b, now);
        else
          return network_.alarm(now + Millis(1), what);  // Asked for when there is a reason.
        return drive(member, now);
      }
    }
  }

  void do_tick(Time now) {
    for (auto& node : nodes_) {
      if (node->is_dead || (node->engine->next_due() > now && !node->kernel)) continue;
      node->engine->tick(now);
      if (node->kernel) node->engine->look_at_datagrams(now);
      act_on_drops(node->end);
    }
    for (auto& each : members_)
      if (!each->dies) {
        bool is_due = each->client.engine->next_due() <= now;
        if (is_due) each->client.engine->tick(now);
        for (auto& client : each->later)
          if (client && client->engine->next_due() <= now) client->engine->tick(now), is_due = true;
        if (is_due) drive(*each, now);
      }
    if (plan_.strikes_early && now > last_strike_ + Seconds(1))
      for (auto& each : members_)
        if (!each->dies && each->group && each->group->phase() == proto::ClientGroup::Phase::joining) {
          each->group->give_up(now);  // A caller does not wait for ever for a tree that lost its root.
          drive(*each, now);
        }
    network_.alarm(now + tick_every(), code(tick, 0));
  }

  // ---- what breaks, and what comes (recovery_breaks.cpp) --------------------------------------------------------

  virtual void do_derived(std::uint32_t, Time) {}
  virtual Duration time_limit() const { return plan_.datagrams ? kLossyTimeLimit : kTimeLimit; }
  Duration tick_every() const { return plan_.datagrams ? kDatagramTickEvery : kTickEvery; }
  /// The tree on which the group is, or will be.
  virtual std::uint32_t tree_of(const LastingMember&, TreeId id) const {
    return number_of(id) - number_of(tree_id_of(0));
  }
  virtual void tell_of_death(const LastingMember& dead);

  void let_trees_come(Time now);
  void let_tree_come(LastingMember& member, std::uint32_t tree, Time now);
  void take_tree(LastingMember& member, std::uint32_t tree, Time now);
  sumac::Result<std::unique_ptr<proto::recovery::Group>> join_later(LastingMember& member, TreeId id, GroupId group,
                                                                    Time now);
  void seek_tree(LastingMember& member, Time now);
  void kill_node(LastingNode& node);
  void fall_silent(LastingNode& node, bool stops);
  void do_strike(const Strike& strike, Time now);
  void strike_at_verdict(Time now);
  void strike_rank(LastingMember& member, Strike::What what, Time now);
  void cut_leaf(LastingMember& member);
  void lose_link(proto::LinkId link, EndId at, Time now);
  void hear_nothing(proto::LinkId link, EndId at, Time now);
  void lose_leaf(LastingMember& member, Time now, bool is_silent = false);
  void lose_peer(LastingMember& member, LastingMember& other, Time now);

  // ---- datagrams (recovery_datagrams.cpp)

  void add_kernel(LastingNode& node);
  void take_frame(EndId to, proto::LinkId link, std::span<const std::byte> frame, Time now);

  // ---- members ------------------------------------------------------------------------------------------------

  sumac::Result<std::unique_ptr<proto::recovery::Group>> make_group(LastingMember& member, Client& client,
                                                                    std::uint32_t tree, GroupId group, Time now) {
    std::vector<NodeId> leaves;
    for (const EndId leaf : generations_[tree].leaves) leaves.push_back(nodes_[leaf]->engine->config().node_id);
    auto path = proto::compute_path(member.rank, leaves, generations_[tree].nodes);
    if (!path) return tl::unexpected(path.error());
    proto::ClientGroupConfig config{.job_id = plan_.base.grant.job_id,
                                    .tree_id = generations_[tree].id,
                                    .group_id = group,
                                    .rank = member.rank,
                                    .world_rank = client.world_rank,
                                    .group_size = plan_.ranks(),
                                    .path = *path,
                                    .osts = plan_.osts,
                                    .stream_window = plan_.base.grant.quota.stream_window,
                                    .payload_per_ost = plan_.base.grant.quota.payload_per_ost,
                                    .chunk_bytes = plan_.base.grant.quota.chunk_bytes,
                                    .lock_batch = plan_.lock_batch};
    if (client.engine->leaf_takes_datagrams())
      config.datagrams = {static_cast<std::uint16_t>(1000 + member.rank), plan_.base.grant.job_key};
    auto made = proto::recovery::Group::make(config, *client.engine, client, member);
    if (made) (*made)->start(now);
    return made;
  }

  void start_member(LastingMember& member, Time now) {
    if (member.dies || member.group) return;
    auto made = make_group(member, member.client, 0, group_id_, now);
    if (!made) return fail(made.error().context);
    member.group =
        std::make_unique<proto::recovery::LastingGroup>(std::move(*made), member.rank, plan_.ranks(), member, member);
    if (member.client.engine->closed()) member.group->on_tree().on_link_closed(now);
    for (const auto& each : early_)
      if (each.to == member.rank) member.group->on_message(each.from, each.bytes, now);
    drive(member, now);
  }

  void check_open() {
    if (group_id_ != GroupId{} || members_[0]->dies) return;
    const auto outcome = members_[0]->client.engine->open_outcome(1);
    if (outcome.state == proto::OpenOutcome::State::pending) return;
    if (outcome.state != proto::OpenOutcome::State::opened) {
      never_opened_ = true;  // The tree was lost first.
      return;
    }
    group_id_ = outcome.group_id;
    for (auto& each : members_) network_.alarm(soon(Micros(500)), code(join, each->rank));
  }

  void drive(LastingMember& member, Time now) {
    using Phase = proto::ClientGroup::Phase;
    if (member.rank == 0) check_open();
    if (member.dies || !member.group || member.has_ended) return;
    if (!member.client.dropped.empty())
      return fail(fmt::format("rank {} dropped its node: {}", member.rank, member.client.dropped));
    for (const auto& client : member.later)
      if (client && !client->dropped.empty() && !is_released())
        return fail(fmt::format("rank {} dropped a later node: {}", member.rank, client->dropped));
    if (!member.dropped.empty()) return fail(fmt::format("rank {} dropped {}", member.rank, member.dropped));
    proto::recovery::LastingGroup& group = *member.group;
    for (;;) {
      if (group.calm() == nullptr) group.run(now);
      if (member.rank == 0) seek_tree(member, now);
      if (group.verdict() && !std::exchange(knows_verdict_, true)) strike_at_verdict(now);
      while (auto completion = group.next_completion())
        if (!complete(member, *completion, now)) return;
      if (group.broken() != nullptr) return fail(fmt::format("rank {}: {}", member.rank, group.broken()));
      if (group.shape().osts != 0 &&
          group.bytes_kept() > 2 * (group.current().kept_most() + group.current().gathered_most()))
        return fail(fmt::format("rank {} keeps {} bytes", member.rank, group.bytes_kept()));
      const Phase phase = group.phase();
      if (phase == Phase::joining || phase == Phase::leaving) return;
      if (phase == Phase::refused) return end(member, now);
      if (phase == Phase::left) {
        if (!member.was_told_departed) tell_departed(member);
        // A member that never stood may wait for a tree that will not answer.
        return group.is_over() || !member.has_stood ? end(member, now) : void();
      }
      if (phase == Phase::lost) {
        group.leave(now);
        continue;
      }
      if (phase == Phase::condemned) {
        if (group.outstanding() != 0) return;
        group.leave(now);
        continue;
      }
      member.has_stood = true;
      if (auto& tree = group.on_tree();
          group.epoch() == 0 && tree.invitation() && !tree.listening() && std::exchange(asked_[member.rank], 1) == 0)
        tree.listen(true);
      if (member.posted == plan_.ops.size()) {
        if (group.outstanding() != 0 && plan_.depth[member.rank] < plan_.ops.size()) return send_held(member);
        group.leave(now);
        continue;
      }
      if (group.outstanding() >= plan_.depth[member.rank]) return send_held(member);
      if (now < member.think_until) return;
      if (random_.chance(0.3)) {
        member.think_until = now + Nanos(random_.between(0, plan_.think[member.rank].count()));
        return network_.alarm(member.think_until, code(poke, member.rank));
      }
      post(member, now);
      if (!failure_.empty()) return;
    }
  }

  void send_held(LastingMember& member) {
    member.client.send_held();
    for (auto& each : member.later)
      if (each) each->send_held();
  }

  /// Whoever has left is not dead: the manager says so to those that ask.
  void tell_departed(LastingMember& member) {
    member.was_told_departed = true;
    if (member.declared || member.gives_up || !member.has_stood) return;
    for (auto& each : members_)
      if (each.get() != &member && !each->has_ended)
        network_.alarm(soon(Millis(5)), code(word_departed, each->rank, member.rank));
  }

  void post(LastingMember& member, Time now) {
    const std::uint32_t index = member.posted;
    const OpPlan op = plan_.planned(member.rank, index);
    Posted& buffers = member.buffers[index];
    auto operation = make_operation(op, index, plan_.ranks(), member.rank);
    buffers.src = make_input(operation, plan_.base.seed, member.rank);
    const std::size_t given = buffers.src.size();
    const std::size_t kept =
        (std::min(operation.keep.to, operation.count) - std::min(operation.keep.from, operation.count)) *
        element_of(op);
    buffers.in_place = op.coll == wire::Coll::allreduce && random_.chance(0.5);
    (buffers.in_place ? buffers.src : buffers.dst).resize(kept + kCanary, std::byte{0xCC});
    auto& dst = buffers.in_place ? buffers.src : buffers.dst;
    operation.src = std::span(buffers.src).first(given);
    operation.dst = std::span(dst).first(kept);
    ++member.posted;
    if (const auto posted = member.group->post(operation, now); !posted) {
      // A verdict may come inside of the loop that posts.
      if (posted.error() != Errc::verdict)
        fail(fmt::format("rank {} could not post operation {}: {}", member.rank, index, to_string(posted.error())));
      --member.posted;
    }
  }

  /// Returns false when the seed has failed.
  bool complete(LastingMember& member, const proto::Completion& completion, Time now) {
    const auto index = static_cast<std::uint32_t>(completion.token);
    const auto who = fmt::format("rank {} operation {}", member.rank, index);
    if (index != member.completed) return fail(who + ": completed out of turn"), false;
    ++member.completed;
    member.status.push_back(completion.status);
    if (completion.status != Errc::ok && completion.status != Errc::verdict)
      return fail(who + fmt::format(": ended with {}", to_string(completion.status))), false;
    Posted& buffers = member.buffers[index];
    auto& dst = buffers.in_place ? buffers.src : buffers.dst;
    const OpPlan op = plan_.ops[index];
    // Members that are out of step may take each other's operations for the same.
    const bool is_in_step = plan_.odd_rank < 0 || index < plan_.odd_operation;
    if (completion.status == Errc::ok && is_in_step) {
      const auto result = make_result(op, plan_.base.seed, index, plan_.ranks());
      const auto operation = make_operation(op, index, plan_.ranks(), member.rank);
      const std::size_t element = element_of(op);
      const std::size_t from = std::min(operation.keep.from, operation.count) * element;
      const std::size_t to = std::min(operation.keep.to, operation.count) * element;
      const auto expected = std::span(result).subspan(from, to - from);
      if (dst.size() != expected.size() + kCanary || !std::equal(expected.begin(), expected.end(), dst.begin()))
        return fail(who + fmt::format(": wrong result ({} {} {} count {}, epoch {})", wire::to_string(op.coll),
                                      to_string(op.op), to_string(op.dtype), op.count, member.group->epoch())),
               false;
      if (!std::all_of(dst.end() - kCanary, dst.end(), [](std::byte b) { return b == std::byte{0xCC}; }))
        return fail(who + ": wrote behind the result"), false;
    }
    // The user's next call may use the memory for anything.
    std::fill(buffers.src.begin(), buffers.src.end(), std::byte{0xEE});
    std::fill(buffers.dst.begin(), buffers.dst.end(), std::byte{0xEE});
    ++report_.operations;
    if (!plan_.strikes_early)
      for (std::size_t i = 0; i < plan_.strikes.size(); ++i)
        if (const Strike& each = plan_.strikes[i];
            !each.at_verdict && each.watched == member.rank && std::max(each.operations, 1u) == member.completed)
          network_.alarm(now + each.delay, code(strike_now, i));
    return true;
  }

  void end(LastingMember& member, Time) {
    member.has_ended = true;
    member.verdict = member.group->verdict();
    report_.returns += member.group->returns();
    report_.datagrams += member.group->on_tree().datagram_operations();
  }

  // ---- the end ------------------------------------------------------------------------------------------------

  bool finished() {
    if (never_opened_) return true;
    if (group_id_ == GroupId{}) {
      // Nobody has a group, and whoever asks for one learns of the loss as without recovery.
      never_opened_ = plan_.strikes_early && network_.now() > last_strike_ + Seconds(1);
      return never_opened_;
    }
    return std::ranges::all_of(members_, [](const auto& each) { return each->dies || each->has_ended; });
  }

  void final_checks();
  virtual bool may_be_refused() const { return true; }
  /// The nodes may know nothing of the job any more.
  virtual bool is_released() const { return false; }
  /// All members have ended well.
  virtual void end_job() {}

  struct Early {
    std::uint32_t to, from;
    std::vector<std::byte> bytes;
  };

  struct Departure {
    std::uint32_t to, who;
    proto::recovery::GroupKey life;
  };

  const RecoveryPlan& plan_;
  Random random_;
  Network network_;
  const int verbose_;
  std::uint64_t placings_ = 0;
  std::vector<Generation> generations_;
  LastingMembers members_;
  std::vector<std::unique_ptr<LastingNode>> nodes_;
  std::vector<char> asked_ = std::vector<char>(plan_.ranks());
  std::vector<Early> early_;
  std::vector<Departure> departures_;
  GroupId group_id_{};
  bool never_opened_ = false, knows_verdict_ = false;
  Time last_strike_{};
  std::uint32_t trees_given_ = 0;
  std::string failure_;
  Report report_;
};

}  // namespace sumac::sim
