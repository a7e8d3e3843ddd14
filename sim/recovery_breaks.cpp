// Nodes, ranks and links break, and trees come.
#include "sim/recovery_lasting_world.hpp"

namespace sumac::sim {

/// Some time after a failure the job has a tree again. Each member hears of it in its own time, and a few never do.
void LastingWorld::let_trees_come(Time now) {
  if (trees_given_ + 1 == kTrees) return;
  ++trees_given_;
  last_strike_ = std::max(last_strike_, now);
  note(fmt::format("tree {} comes", trees_given_));
  for (auto& each : members_)
    if (!random_.chance(0.02)) network_.alarm(soon(Millis(3)), code(tree_comes, each->rank, trees_given_));
  // Some are lost at once, while the members try to go there.
  if (random_.chance(0.2))
    network_.alarm(soon(Millis(4)), code(node_dies, trees_given_ * tree_size() +
                                                        static_cast<std::uint32_t>(random_.below(tree_size()))));
}

void LastingWorld::let_tree_come(LastingMember& member, std::uint32_t tree, Time now) {
  if (member.dies || member.has_ended) return;
  take_tree(member, tree, now);
  if (member.group && random_.chance(0.5) && member.group->current().config().tree_id != tree_id_of(tree))
    member.group->lose_tree(now);
  drive(member, now);
}

void LastingWorld::take_tree(LastingMember& member, std::uint32_t tree, Time now) {
  member.later.resize(std::max<std::size_t>(member.later.size(), tree + 1));
  member.later[tree] = std::make_unique<Client>(network_, member.client.end);
  connect_leaf(*member.later[tree], member.rank, tree, now);
}

sumac::Result<std::unique_ptr<proto::recovery::Group>> LastingWorld::join_later(LastingMember& member, TreeId id,
                                                                                GroupId group, Time now) {
  const std::uint32_t tree = tree_of(member, id);
  if (tree >= member.later.size() || !member.later[tree]) return nullptr;
  Client& client = *member.later[tree];
  if (client.engine->closed()) return sumac::fail(Errc::lost, "its link broke");
  return make_group(member, client, tree, group, now);
}

/// Member 0 asks the newest tree for a group, and proposes it.
void LastingWorld::seek_tree(LastingMember& member, Time now) {
  if (!member.group || !member.group->wants_tree() || member.later.empty()) return;
  auto tree = static_cast<std::uint32_t>(member.later.size()) - 1;
  while (tree > 0 && !member.later[tree]) --tree;
  if (tree == 0 || member.later[tree]->engine->closed()) return;
  auto& engine = *member.later[tree]->engine;
  if (member.asked / 100 != tree) engine.open(member.asked = tree * 100, plan_.ranks(), now);
  const auto outcome = engine.open_outcome(member.asked);
  if (outcome.state != proto::OpenOutcome::State::opened) return;
  engine.open(++member.asked, plan_.ranks(), now);  // For another try.
  member.group->propose(generations_[tree].id, outcome.group_id, now);
}

void LastingWorld::kill_node(LastingNode& node) {
  if (node.is_dead) return;
  const bool is_told = plan_.datagrams && Random(plan_.base.seed * 1000 + 500 + node.end).chance(0.3);
  note(fmt::format("node {} {}", node.end, is_told ? "is told to stop" : "dies"));
  if (is_told) {
    node.engine->stop(network_.now());
    act_on_drops(node.end);
    node.kernel_outlives = false;
  }
  node.is_dead = true;
  last_strike_ = network_.now();
  for (const proto::LinkId link : node.links)
    network_.alarm(soon(Millis(1)), code(node_lost, link.value, network_.other_end(link, node.end)));
}

/// Its peers notice one after the other; where it only is late, not all of them.
void LastingWorld::fall_silent(LastingNode& node, bool stops) {
  if (node.is_dead) return;
  note(fmt::format("node {} {}", node.end, stops ? "stops" : "is late"));
  node.is_dead = stops;
  for (const proto::LinkId link : node.links)
    if (stops || random_.chance(0.7))
      network_.alarm(soon(Millis(1)), code(node_silent, link.value, network_.other_end(link, node.end)));
}

void LastingWorld::do_strike(const Strike& strike, Time now) {
  last_strike_ = now;
  network_.alarm(now + Nanos(random_.between(0, 30'000'000)), code(trees_come, 0));
  switch (strike.what) {
    case Strike::What::kill_node: return kill_node(*nodes_[strike.target + trees_given_ * tree_size()]);
    case Strike::What::stop_node:
    case Strike::What::late_node:
      return fall_silent(*nodes_[strike.target + trees_given_ * tree_size()], strike.what == Strike::What::stop_node);
    case Strike::What::cut_leaf: return cut_leaf(*members_[strike.target]);
    case Strike::What::cut_members: {
      LastingMember &a = *members_[strike.target], &b = *members_[strike.other];
      note(fmt::format("the link of ranks {} and {} breaks", a.rank, b.rank));
      network_.close(a.peers[b.rank]);
      network_.alarm(soon(Micros(300)), code(peer_lost, a.rank, b.rank));
      network_.alarm(soon(Micros(300)), code(peer_lost, b.rank, a.rank));
      return;
    }
    case Strike::What::kill_rank:
    case Strike::What::declare:
    case Strike::What::give_up: return strike_rank(*members_[strike.target], strike.what, now);
  }
}

void LastingWorld::strike_at_verdict(Time now) {
  for (std::size_t i = 0; i < plan_.strikes.size(); ++i)
    if (plan_.strikes[i].at_verdict) network_.alarm(now + plan_.strikes[i].delay, code(strike_now, i));
}

void LastingWorld::strike_rank(LastingMember& member, Strike::What what, Time now) {
  // Two ranks that are lost at once are not promised anything, and who has left is not lost.
  const bool one_is_lost = std::ranges::any_of(members_, [](const auto& each) { return !each->counts(); });
  if (one_is_lost || member.has_ended || !member.group || (plan_.strikes_early && !member.has_stood)) return;
  if (member.group->phase() == proto::ClientGroup::Phase::left) return;
  if (what == Strike::What::give_up) {
    if (!member.has_stood) return;
    note(fmt::format("rank {} gives up", member.rank));
    member.gives_up = true;
    member.group->give_up(now);
    return drive(member, now);
  }
  if (what == Strike::What::declare) {
    note(fmt::format("rank {} is declared dead and goes on", member.rank));
    member.declared = true;
  } else {
    note(fmt::format("rank {} dies", member.rank));
    member.dies = true;
    cut_leaf(member);
    for (auto& client : member.later)
      if (client) network_.alarm(soon(Millis(1)), code(node_lost, client->link.value, client->node));
    for (auto& each : members_)
      if (each.get() != &member && random_.chance(0.7)) {
        network_.close(each->peers[member.rank]);
        network_.alarm(soon(Millis(1)), code(peer_lost, each->rank, member.rank));
      }
  }
  tell_of_death(member);
}

void LastingWorld::tell_of_death(const LastingMember& dead) {
  const Duration most = random_.chance(0.5) ? Micros(500) : Millis(10);
  for (auto& each : members_) network_.alarm(soon(most), code(word_dead, each->rank, dead.rank));
}

void LastingWorld::cut_leaf(LastingMember& member) {
  if (member.has_lost_leaf || nodes_[member.client.node]->is_dead) return;
  member.has_lost_leaf = true;
  note(fmt::format("the link of rank {} to its leaf breaks", member.rank));
  network_.alarm(soon(Millis(1)), code(leaf_lost, member.rank));
  network_.alarm(soon(Millis(1)), code(node_lost, member.client.link.value, member.client.node));
}

/// The end `at` notices that the link of a node is lost. A machine that is gone with its kernel is mostly silent.
void LastingWorld::lose_link(proto::LinkId link, EndId at, Time now) {
  network_.close(link);
  const EndId other = network_.other_end(link, at);
  const bool is_silent = other < nodes_.size() && nodes_[other]->is_dead && !nodes_[other]->kernel_outlives &&
                         plan_.datagrams && random_.chance(0.7);
  if (LastingMember* member = member_at(at); member != nullptr) {
    if (link == member->client.link) return lose_leaf(*member, now, is_silent);
    Client* client = client_of(*member, link);
    if (member->dies || client == nullptr) return;
    client->engine->on_closed(Error{is_silent ? Errc::timeout : Errc::lost, "the link broke"}, now);
    return drive(*member, now);
  }
  if (nodes_[at]->is_dead) return;
  nodes_[at]->engine->on_link_closed(link, now, {{}, {}, Millis(is_silent ? 1000 : 0)});
  act_on_drops(at);
}

/// Nodes keep the connection; a member closes the one to its leaf.
void LastingWorld::hear_nothing(proto::LinkId link, EndId at, Time now) {
  if (member_at(at) != nullptr) {
    const EndId leaf = network_.other_end(link, at);
    network_.alarm(soon(Millis(1)), code(node_lost, link.value, leaf));
    return lose_link(link, at, now);
  }
  if (nodes_[at]->is_dead) return;
  nodes_[at]->engine->on_neighbour_silent(link, now);
  act_on_drops(at);
  if (nodes_[network_.other_end(link, at)]->is_dead)  // The silence lasts.
    network_.alarm(now + Millis(20), code(node_silent, link.value, at));
}

void LastingWorld::lose_leaf(LastingMember& member, Time now, bool is_silent) {
  network_.close(member.client.link);
  if (member.dies) return;
  member.client.engine->on_closed(Error{is_silent ? Errc::timeout : Errc::lost, "the link broke"}, now);
  drive(member, now);
}

void LastingWorld::lose_peer(LastingMember& member, LastingMember& other, Time now) {
  if (network_.open(member.peers[other.rank])) return;
  // Whoever notices first connects anew; a message on the new link tells the other end that the old one is lost.
  const proto::LinkId theirs = other.peers[member.rank];
  member.peers[other.rank] = network_.open(theirs) ? theirs : network_.connect(member.client.end, other.client.end);
  if (member.dies || !member.group) return;
  member.group->on_link_lost(other.rank, now);
  drive(member, now);
}

}  // namespace sumac::sim
