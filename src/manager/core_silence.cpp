// Silent nodes: a neighbour has heard nothing of a node for `node_away`. New jobs go without it at once, and running
// ones go on until the neighbour gives up the link (sharp_an --lost-after); then the trees go without it, too. The next
// sign of life takes it back.
#include <algorithm>

#include "manager/core.hpp"
#include "manager/core_messages.hpp"

namespace sumac::manager {

namespace {

/// A node that no job uses is done without when it has not answered for so long.
constexpr Duration kAnswerWithin = Seconds(1);

}  // namespace

ActionList Manager::node_neighbour(StreamId stream, const Neighbour& word, Time now) {
  now_ = now;
  ActionList out;
  const Node* by = registered(stream);
  const auto about = std::size_t{number_of(word.node)} - 1;
  if (by == nullptr || about >= nodes_.size() || word.tree >= trees_.size()) return out;
  const auto from = static_cast<std::uint32_t>(index_of(*by));
  auto& node = nodes_[about];
  const std::pair key{word.tree, from};
  if (node.is_down) return out;
  if (word.state == Neighbour::State::heard) {
    node.silent_to.erase(key);
  } else {
    const bool are_neighbours = parent_of(word.tree, about) == from || parent_of(word.tree, from) == about;
    if (!are_neighbours || node.stream == 0) return out;
    node.silent_to[key] = {word.state == Neighbour::State::lost, word.silent_ms};
  }
  judge(out, about);
  judge(out, from);  // Its own word about the other may not count any more, or count again.
  return out;
}

/// Returns whether this accusation counts. Two living nodes that accuse each other have lost their link: then the child
/// is believed to be the silent one.
bool Manager::is_believed(std::size_t about, std::uint32_t tree, std::uint32_t by) const {
  return parent_of(tree, by) != about || !nodes_[by].silent_to.contains({tree, static_cast<std::uint32_t>(about)});
}

std::string Manager::who_hears_nothing_of(const Node& node) const {
  const auto about = index_of(node);
  for (const auto& [key, silence] : node.silent_to)
    if (is_believed(about, key.first, key.second))
      return fmt::format("{} has heard nothing of it for {:.1f} s", nodes_[key.second].name, silence.ms / 1000.0);
  return {};
}

void Manager::judge(ActionList& out, std::size_t index) {
  auto& node = nodes_[index];
  if (node.is_down) return;  // Its neighbours are others now. Only its own sign of life counts.
  const auto why = who_hears_nothing_of(node);
  if (why.empty()) {
    if (node.silent) hear_again(out, index);
    return;
  }
  if (!node.silent) {
    node.silent = true;
    const auto text = fmt::format("is silent: {}; new jobs go without it", why);
    out.push_back(Say{LogLevel::warn, "GENERAL", fmt::format("node {} {}", node.name, text)});
    happened(out, Happened::Kind::node_lost, "node " + node.name, text);
    begin_without(out, index);
    for (std::uint32_t i = 0; i < trees_.size(); ++i)
      if (node.parts[i].works) send_part(out, i, node);
    node.probe = node.sent;
    node.answers = false;
    node.silent_since = now_;
  }
  // A node that answers here has lost a link, not its life.
  if (node.answers) return;
  const auto given_up = std::ranges::any_of(node.silent_to, [&](const auto& one) {
    return one.second.lost && is_believed(index, one.first.first, one.first.second);
  });
  const auto has_jobs = std::ranges::any_of(jobs_, [&](const auto& one) { return uses(one.second, index); });
  if (given_up || (!has_jobs && now_ - node.silent_since >= kAnswerWithin)) take_down(out, index);
}

/// Jobs that are beginning on the node begin again without it. Ended jobs do not wait for it any more.
void Manager::begin_without(ActionList& out, std::size_t index) {
  for (std::uint32_t i = 0; i < trees_.size(); ++i) stop_waiting(i, static_cast<std::uint32_t>(index));
  erase_left(out);
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    const auto stream = stream_of_life_.find(job->second.record.life);
    if (job->second.granted || !uses(job->second, index) || stream == stream_of_life_.end()) continue;
    held_.push_back({stream->second, job->second.begin, job->second.deadline, false});
    drop(out, job, fmt::format("node {} is silent: it begins without", nodes_[index].name));
  }
  retry_held(out, now_);
}

void Manager::take_down(ActionList& out, std::size_t index) {
  auto& node = nodes_[index];
  node.is_down = true;
  fabric_.nodes[index].up = false;
  const auto why = fmt::format("node {} stays silent", node.name);
  out.push_back(Say{LogLevel::warn, "GENERAL", fmt::format("{}: the trees go on without", why)});
  happened(out, Happened::Kind::node_lost, "node " + node.name, "stays silent: the trees go on without it");
  follow(out, why);
  retry_held(out, now_);
}

void Manager::hear_again(ActionList& out, std::size_t index) {
  auto& node = nodes_[index];
  node.silent = false;
  node.silent_to.clear();
  const std::string text = "is heard again: new jobs use it";
  out.push_back(Say{LogLevel::info, "GENERAL", fmt::format("node {} {}", node.name, text)});
  happened(out, Happened::Kind::node_registered, "node " + node.name, text);
  if (!std::exchange(node.is_down, false)) return;
  fabric_.nodes[index].up = node.described;
  follow(out, fmt::format("node {} is heard again", node.name));
}

void Manager::note_answer(ActionList& out, std::size_t index, std::uint64_t sequence) {
  auto& node = nodes_[index];
  if (!node.silent || sequence < node.probe) return;
  node.answers = true;
  if (node.is_down) hear_again(out, index);
}

Time Manager::next_judgement() const {
  Time next = kNever;
  for (const auto& node : nodes_)
    if (node.silent && !node.answers && !node.is_down)
      next = std::min(next, std::max(node.silent_since, looked_) + kAnswerWithin);
  return next;
}

/// Nodes that are silent may be done without as soon as no job uses them.
void Manager::judge_silent(ActionList& out) {
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].silent) judge(out, n);
}

/// The node's stream has ended: its word counts no more, and the end of the stream says more than its silence.
void Manager::forget_silence(ActionList& out, std::size_t index) {
  auto& node = nodes_[index];
  node.silent_to.clear();
  node.silent = node.is_down = false;
  for (std::size_t other = 0; other < nodes_.size(); ++other)
    if (std::erase_if(nodes_[other].silent_to, [&](const auto& one) { return one.first.second == index; }) != 0)
      judge(out, other);
}

}  // namespace sumac::manager
