// Events of nodes.
#include <algorithm>

#include "manager/manager.hpp"

namespace sumac::manager {

std::vector<Action> Manager::node_says(StreamId stream, const FromNode& word, Time now) {
  Step step{now};
  if (const auto* who = std::get_if<NodeRegister>(&word)) {
    node_registers(step, stream, *who);
    return std::move(step.actions);
  }
  const auto node = cluster_.node_of(stream);
  if (!node) return std::move(step.actions);
  std::visit(overloaded{
                 [&](const Ack& ack) { node_acks(step, stream, *node, ack.sequence); },
                 [&](const Deferred& deferred) { ledger_.node_defers(step, *node, deferred); },
                 [&](const Link& link) {
                   if (forest_.node_link(step, *node, link)) ledger_.finish_ready(step);
                 },
                 [&](const Neighbour& neighbour) {
                   if (!cluster_.hear(forest_.trees(), *node, neighbour)) return;
                   judge(step, std::size_t{number_of(neighbour.node)} - 1);
                   judge(step, *node);  // Its own word about the other may not count any more, or count again.
                 },
                 [&](const Listening& listening) {
                   if (forest_.node_listens(step, stream, *node, listening)) ledger_.finish_ready(step);
                 },
                 [&](const Inspectable& at) { cluster_.note_inspectable(stream, at.address); },
                 [&](const HopReport& report) { cluster_.note_hop(forest_.trees(), *node, report); },
                 [](const NodeRegister&) {},
             },
             word);
  return std::move(step.actions);
}

void Manager::node_registers(Step& step, StreamId stream, const NodeRegister& who) {
  const auto known = cluster_.node_named(who.name);
  const auto may = cluster_.may_register(who, known ? forest_.address_of(*known) : std::string());
  const auto changes = may ? cluster_.node_comes(who) : tl::unexpected(may.error());
  if (!changes) {
    step.say(LogLevel::error, "GENERAL", fmt::format("refused node {:.64}: {}", who.name, changes.error().context));
    step.refuse(stream, changes.error().code, changes.error().context);
    return;
  }
  if (*changes) follow(step, fmt::format("node {} has come", who.name));  // The node itself receives its part below.
  const auto node = *cluster_.node_named(who.name);
  cluster_.node_is(node, who);
  // The node learns below which jobs are over. It reports the group numbers of members that still hold something there.
  for (std::uint32_t i = 0; i < forest_.size(); ++i) ledger_.stop_waiting(i, node);
  ledger_.erase_left(step);
  forest_.node_comes(node, who.trees);
  ledger_.lose_forgotten(step, node);
  step.say(
      LogLevel::info, "GENERAL",
      fmt::format("node {} registered: node id {}, {} OSTs, {} groups", who.name, node_id(node), who.osts, who.groups));
  step.happened(Happened::Kind::node_registered, "node " + who.name,
                fmt::format("registered with {} OSTs and {} groups", who.osts, who.groups));
  for (std::uint32_t i = 0; i < forest_.size(); ++i)
    if (const auto& tree = forest_.trees()[i]; !tree.lost && tree.shape.root == node) note_root(step, i);
  // The stream is set only now, so that the following message is the first that the node receives.
  cluster_.node_listens_on(node, stream);
  Registered registered{
      .node_id = node_id(node),
      .trees = {},
      .away_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<Millis>(rules_.node_away).count()),
      .hop_totals_ms = static_cast<std::uint32_t>(kHopTotalsEvery.count()),
      .node_key = *cluster_.node(node).key};
  for (std::uint32_t i = 0; i < forest_.size(); ++i)
    if (forest_.part(i, node).works) registered.trees.push_back(part_of(i, node));
  cluster_.send(step, node, std::move(registered));
  for (std::uint32_t i = 0; i < forest_.size(); ++i) {
    forest_.send_parent(step, i, node);
    if (forest_.part(i, node).works) forest_.send_parents_of_children(step, i, node);
  }
  retry_held(step);
}

NodeTree Manager::part_of(std::uint32_t tree, std::size_t node) const {
  auto message = forest_.part_message(tree, node);
  message.grants = ledger_.grants_at(tree, node);
  return message;
}

void Manager::send_part(Step& step, std::uint32_t tree, std::size_t node) {
  if (cluster_.is_there(node)) cluster_.send(step, node, part_of(tree, node));
}

/// Called when the root of a tree has registered. If its life is another one than before, the tree is a new one.
void Manager::note_root(Step& step, std::uint32_t tree) {
  if (!forest_.note_root(tree)) return;
  ledger_.lose_tree(step, tree);
  forest_.keep(step);
  const auto root = forest_.trees()[tree].shape.root;
  for (std::size_t n = 0; n < cluster_.nodes().size(); ++n)
    if (n != root && forest_.part(tree, n).works) send_part(step, tree, n);
  // The caller sends the root's address to its children; all other nodes have waited for the tree's id.
  for (std::size_t n = 0; n < cluster_.nodes().size(); ++n)
    if (parent_of(forest_.trees(), tree, n) != root) forest_.send_parent(step, tree, n);
}

void Manager::node_acks(Step& step, StreamId stream, std::size_t node, std::uint64_t sequence) {
  if (const auto sent = cluster_.node(node).sent; sequence == 0 || sequence > sent) {
    step.refuse(stream, Errc::invalid,
                fmt::format("it acknowledged message {}, but the last one sent is {}", sequence, sent));
    return;
  }
  if (cluster_.note_answer(node, sequence)) hear_again(step, node);
  if (!ledger_.node_acks(step, node, sequence)) return;
  build_if_nobody_runs(step);
  retry_held(step);
}

std::vector<Action> Manager::node_stream_ended(StreamId stream, Time now) {
  Step step{now};
  const auto node = cluster_.node_of(stream);
  if (!node) return std::move(step.actions);
  for (const auto accused : cluster_.node_leaves(*node, now)) judge(step, accused);
  forest_.node_leaves(*node);
  ledger_.node_leaves(step, *node);
  ledger_.give_again(step);
  return std::move(step.actions);
}

// ---- silence

/// Decides whether a node is silent, is heard again, or is gone, by what its neighbours say of it.
void Manager::judge(Step& step, std::size_t node) {
  if (cluster_.node(node).is_down) return;  // Its neighbours are others now. Only its own sign of life counts.
  const auto why = cluster_.silence_of(forest_.trees(), node);
  if (why.empty()) {
    if (cluster_.node(node).silent) hear_again(step, node);
    return;
  }
  if (!cluster_.node(node).silent) {
    cluster_.become_silent(step, node, why);
    ledger_.begin_without(step, node);
    retry_held(step);
    for (std::uint32_t i = 0; i < forest_.size(); ++i)
      if (forest_.part(i, node).works) send_part(step, i, node);
    cluster_.probe(node, step.now);
  }
  if (!cluster_.is_gone(forest_.trees(), node, ledger_.uses(node), step.now)) return;
  cluster_.do_without(node, true);
  const auto stays = fmt::format("node {} stays silent", cluster_.node(node).name);
  step.say(LogLevel::warn, "GENERAL", fmt::format("{}: the trees go on without", stays));
  step.happened(Happened::Kind::node_lost, "node " + cluster_.node(node).name,
                "stays silent: the trees go on without it");
  follow(step, stays);
  retry_held(step);
}

void Manager::hear_again(Step& step, std::size_t node) {
  if (cluster_.hear_again(step, node)) follow(step, fmt::format("node {} is heard again", cluster_.node(node).name));
}

}  // namespace sumac::manager
