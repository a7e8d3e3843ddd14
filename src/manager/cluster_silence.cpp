// Silent nodes: a neighbour has heard nothing of a node for `node_away`. New jobs go without it at once, and running
// ones go on until the neighbour gives up the link (sharp_an --lost-after); then the trees go without it, too. The next
// sign of life takes it back.
#include <algorithm>

#include "manager/cluster.hpp"

namespace sumac::manager {
namespace {

/// Returns whether this accusation counts. Two living nodes that accuse each other have lost their link: then the child
/// is believed to be the silent one.
bool is_believed(const Cluster& cluster, const Trees& trees, std::size_t about, std::uint32_t tree, std::uint32_t by) {
  return parent_of(trees, tree, by) != about ||
         !cluster.node(by).silent_to.contains({tree, static_cast<std::uint32_t>(about)});
}

}  // namespace

bool Cluster::hear(const Trees& trees, std::size_t by, const Neighbour& word) {
  const auto about = std::size_t{number_of(word.node)} - 1;
  if (about >= nodes_.size() || word.tree >= trees.size() || nodes_[about].is_down) return false;
  auto& node = nodes_[about];
  const std::pair key{word.tree, static_cast<std::uint32_t>(by)};
  if (word.state == Neighbour::State::heard) {
    node.silent_to.erase(key);
    return true;
  }
  const bool are_neighbours = parent_of(trees, word.tree, about) == by || parent_of(trees, word.tree, by) == about;
  if (!are_neighbours || node.stream == 0) return false;
  node.silent_to[key] = {word.state == Neighbour::State::lost, word.silent_ms};
  return true;
}

std::string Cluster::silence_of(const Trees& trees, std::size_t node) const {
  for (const auto& [key, silence] : nodes_[node].silent_to)
    if (is_believed(*this, trees, node, key.first, key.second))
      return fmt::format("{} has heard nothing of it for {:.1f} s", nodes_[key.second].name, silence.ms / 1000.0);
  return {};
}

void Cluster::become_silent(Step& step, std::size_t node, const std::string& why) {
  nodes_[node].silent = true;
  const auto text = fmt::format("is silent: {}; new jobs go without it", why);
  step.say(LogLevel::warn, "GENERAL", fmt::format("node {} {}", nodes_[node].name, text));
  step.happened(Happened::Kind::node_lost, "node " + nodes_[node].name, text);
}

void Cluster::probe(std::size_t node, Time now) {
  nodes_[node].probe = nodes_[node].sent;
  nodes_[node].answers = false;
  nodes_[node].silent_since = now;
}

bool Cluster::is_gone(const Trees& trees, std::size_t index, bool has_jobs, Time now) const {
  const auto& node = nodes_[index];
  // A node that answers here has lost a link, not its life.
  if (node.answers) return false;
  const auto given_up = std::ranges::any_of(node.silent_to, [&](const auto& one) {
    return one.second.lost && is_believed(*this, trees, index, one.first.first, one.first.second);
  });
  return given_up || (!has_jobs && now - node.silent_since >= kAnswerWithin);
}

bool Cluster::hear_again(Step& step, std::size_t index) {
  auto& node = nodes_[index];
  node.silent = false;
  node.silent_to.clear();
  const std::string text = "is heard again: new jobs use it";
  step.say(LogLevel::info, "GENERAL", fmt::format("node {} {}", node.name, text));
  step.happened(Happened::Kind::node_registered, "node " + node.name, text);
  if (!std::exchange(node.is_down, false)) return false;
  fabric_.nodes[index].up = node.described;
  return true;
}

bool Cluster::note_answer(std::size_t index, std::uint64_t sequence) {
  auto& node = nodes_[index];
  if (!node.silent || sequence < node.probe) return false;
  node.answers = true;
  return node.is_down;
}

}  // namespace sumac::manager
