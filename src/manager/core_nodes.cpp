// Nodes: their registration, the messages sent to them and acknowledged, and the links between them.
#include <algorithm>
#include <utility>

#include "control/command_line.hpp"
#include "manager/core.hpp"
#include "manager/core_messages.hpp"
#include "topo/changes.hpp"
#include "wire/agg.hpp"
#include "wire/host.hpp"
#include "wire/proof.hpp"

namespace sumac::manager {

Manager::Node* Manager::registered(StreamId stream) {
  const auto found = node_by_stream_.find(stream);
  return found == node_by_stream_.end() ? nullptr : &nodes_[found->second];
}

void Manager::send(ActionList& out, Node& node, ForNode message) {
  out.push_back(SendToNode{node.stream, ++node.sent, std::move(message)});
}

Manager::Node& Manager::add_node(const std::string& name) {
  node_by_name_[name] = nodes_.size();
  auto& node = nodes_.emplace_back();
  node.name = name;
  node.parts.resize(trees_.size());
  return node;
}

void Manager::add_open_node(const std::string& name) {
  topo::Node added;
  added.name = name;
  added.place.at_switch = topo::kAnywhere;
  ++fabric_version_;
  fabric_.nodes.push_back(std::move(added));
  add_node(name);
}

void Manager::add_open_host(const std::string& name) {
  topo::Host added;
  added.name = name;
  added.leaf = topo::kAnywhere;
  host_by_name_[name] = static_cast<std::uint32_t>(fabric_.hosts.size());
  ++fabric_version_;
  ++sharpds_version_;
  fabric_.hosts.push_back(std::move(added));
}

NodeTree Manager::part_message(std::uint32_t tree, std::size_t node) const {
  NodeTree message{.tree = tree,
                   .tree_id = trees_[tree].id,
                   .is_root = trees_[tree].shape.root == node,
                   .over = !nodes_[node].parts[tree].works,
                   .grants = {}};
  // A job that was still beginning while this node was away has been refused.
  for (const auto& [id, job] : jobs_)
    for (std::size_t i = 0; i < job.record.shares.size(); ++i)
      if (job.granted && job.record.shares[i].tree == tree &&
          std::find(job.reserved[i].begin(), job.reserved[i].end(), node) != job.reserved[i].end())
        message.grants.push_back(grant_to(job, i, static_cast<std::uint32_t>(node)));
  return message;
}

/// Makes the grant for one node. It names the children that have ranks of the job below them, so that no other node of
/// the tree can send messages of the job there.
Grant Manager::grant_to(const Job& job, std::size_t share, std::uint32_t node) const {
  const auto& part = job.record.shares[share];
  Grant message{.tree = part.tree,
                .job_id = job.record.job_id,
                .quota = job.record.quota,
                .job_key = job.record.job_key,
                .uid = job.record.uid,
                .numbers = part.numbers,
                .below = {},
                .links_percent = rules_.user.share_max_percent};
  const auto at = std::find(part.nodes.begin(), part.nodes.end(), node);
  if (at == part.nodes.end()) {
    // Above the job's root, all messages of the job come from the node before it on the path to the tree's root.
    const auto& way = job.reserved[share];
    const auto above = std::find(way.begin() + static_cast<std::ptrdiff_t>(part.nodes.size()), way.end(), node);
    const auto first = way.begin() + static_cast<std::ptrdiff_t>(part.nodes.size());
    if (above != way.end()) message.below.push_back(id_of(above == first ? part.nodes.front() : *(above - 1)));
    return message;
  }
  const auto index = static_cast<std::uint32_t>(at - part.nodes.begin());
  for (std::size_t child = 0; child < part.nodes.size(); ++child)
    if (part.parents[child] == index + 1) message.below.push_back(id_of(part.nodes[child]));
  message.ranks_here = std::find(part.leaves.begin(), part.leaves.end(), index) != part.leaves.end();
  return message;
}

void Manager::send_part(ActionList& out, std::uint32_t tree, Node& node) {
  if (node.stream == 0) return;
  send(out, node, part_message(tree, index_of(node)));
}

void Manager::send_parent(ActionList& out, std::uint32_t tree, Node& child) {
  const auto parent = parent_of(tree, index_of(child));
  if (child.stream == 0 || parent == topo::kNone || trees_[tree].id == TreeId{} || !child.parts[tree].works) return;
  const Node& above = nodes_[parent];
  if (above.stream == 0 || above.parts[tree].address.empty()) return;
  Secret key{};
  if (!above.key || !wire::make_pair_key(*above.key, trees_[tree].id, id_of(index_of(child)), id_of(parent), key)) {
    out.push_back(Say{
        LogLevel::error, "GENERAL",
        fmt::format("node {} cannot connect to its parent {}: no key could be made for them", child.name, above.name)});
    return;
  }
  send(out, child, Parent{tree, id_of(parent), above.name, above.parts[tree].address, key});
}

void Manager::send_parents_of_children(ActionList& out, std::uint32_t tree, std::size_t parent) {
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    if (parent_of(tree, n) == parent) send_parent(out, tree, nodes_[n]);
}

/// Called when the root of a tree has registered. If its life is another one than before, the tree is a new one.
void Manager::note_root(ActionList& out, std::uint32_t tree) {
  const auto id = id_for(tree);
  if (id == std::exchange(trees_[tree].id, id)) return;
  auto& root = nodes_[trees_[tree].shape.root];
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    const auto& shares = job->second.record.shares;
    if (std::none_of(shares.begin(), shares.end(), [&](const JobShare& share) { return share.tree == tree; })) continue;
    const auto why =
        fmt::format("the root {} of its tree {} is a new process: start the job again", root.name, tree + 1);
    if (job->second.granted)
      release(out, job, why);
    else
      fail_begin(out, job, why);
  }
  keep_trees(out);
  for (auto& node : nodes_)
    if (&node != &root && node.parts[tree].works) send_part(out, tree, node);
  // The caller sends the root's address to its children; all other nodes have waited for the tree's id.
  for (auto& node : nodes_)
    if (parent_of(tree, index_of(node)) != index_of(root)) send_parent(out, tree, node);
}

/// Returns the error in a registration, without regard to the fabric.
std::optional<std::string> Manager::flaw_of(const NodeRegister& who) const {
  for (const auto& listening : who.trees)
    if (listening.address.empty() || listening.address.size() >= wire::kAddressMax)
      return fmt::format("its address has {} bytes, legal are 1 to {}", listening.address.size(),
                         wire::kAddressMax - 1);
  if (who.osts == 0 || who.groups == 0 || who.groups > 0xFFFF || who.payload_max == 0 ||
      who.payload_max > wire::kPayloadMax)
    return fmt::format("its capacity makes no sense: {} OSTs, {} groups, payload {}", who.osts, who.groups,
                       who.payload_max);
  if (rules_.open && (who.name.empty() || who.name.size() >= wire::kHostNameMax ||
                      who.name.find_first_of(" \t\n") != std::string::npos))
    return fmt::format("its name has {} bytes, or blanks: 1 to {} without blanks are legal", who.name.size(),
                       wire::kHostNameMax - 1);
  return std::nullopt;
}

ActionList Manager::node_registers(StreamId stream, const NodeRegister& who, Time now) {
  now_ = now;
  ActionList out;
  const auto refuse = [&](Errc code, std::string text) {
    out.push_back(Say{LogLevel::error, "GENERAL", fmt::format("refused node {:.64}: {}", who.name, text)});
    out.push_back(Refuse{stream, Error{code, std::move(text)}});
    return out;
  };
  if (who.version != control::kControlVersion)
    return refuse(Errc::unsupported,
                  fmt::format("it speaks version {} of the control messages, the manager {}: install the same "
                              "version everywhere",
                              who.version, control::kControlVersion));
  if (auto flaw = flaw_of(who)) return refuse(Errc::invalid, *std::move(flaw));
  auto found = node_by_name_.find(who.name);
  const bool is_new = found == node_by_name_.end();
  if ((is_new || !nodes_[found->second].described) && !rules_.open) {
    std::vector<std::string> known;
    for (const auto& node : nodes_)
      if (node.described) known.push_back(node.name);
    return refuse(Errc::not_found,
                  fmt::format("the fabric has no node of that name: --name is one of {}", join(known).substr(0, 400)));
  }
  if (!is_new && nodes_[found->second].stream != 0) {
    const auto& node = nodes_[found->second];
    const auto told = std::ranges::find_if(node.parts, [](const auto& part) { return !part.address.empty(); });
    const auto where = told == node.parts.end() ? std::string() : " at " + told->address;
    return refuse(Errc::exists, fmt::format("node {} is registered already, by pid {}{}: stop one of the two",
                                            node.name, node.who.pid, where));
  }
  auto key = is_new || !nodes_[found->second].key ? rules_.draw_secret() : *nodes_[found->second].key;
  if (!key) return refuse(key.error().code, fmt::format("the manager can't draw a key: {}", key.error().context));
  if (is_new) {
    add_open_node(who.name);
    found = node_by_name_.find(who.name);
  }
  const auto index = found->second;
  nodes_[index].key = *key;
  nodes_[index].away_at = kNever;
  if (is_new || !std::exchange(fabric_.nodes[index].up, true))
    follow(out, fmt::format("node {} has come", who.name));  // The node itself receives its part of the trees below.

  Node& node = nodes_[index];
  node.seen = true;
  node.who = who;
  // The node learns below which jobs are over. It reports the group numbers of members that still hold something there.
  for (std::uint32_t i = 0; i < trees_.size(); ++i) stop_waiting(i, static_cast<std::uint32_t>(index));
  erase_left(out);
  for (auto& part : node.parts) {
    part.address.clear();
    part.why.clear();
    part.held.clear();
    part.link_up = false;
    part.link_why = "not connected yet";
  }
  for (const auto& listening : who.trees)
    if (listening.tree < node.parts.size()) {
      node.parts[listening.tree].address = listening.address;
      node.parts[listening.tree].held = listening.held;
    }
  out.push_back(Say{LogLevel::info, "GENERAL",
                    fmt::format("node {} registered: node id {}, {} OSTs, {} groups", node.name, id_of(index), who.osts,
                                who.groups)});
  happened(out, Happened::Kind::node_registered, "node " + node.name,
           fmt::format("registered with {} OSTs and {} groups", who.osts, who.groups));
  for (std::uint32_t i = 0; i < trees_.size(); ++i)
    if (!trees_[i].lost && trees_[i].shape.root == index) note_root(out, i);
  // The stream is set only now, so that the following message is the first that the node receives.
  node.stream = stream;
  node.sent = 0;
  node_by_stream_[stream] = index;
  Registered registered{
      .node_id = id_of(index),
      .trees = {},
      .away_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<Millis>(rules_.node_away).count()),
      .node_key = *node.key};
  for (std::uint32_t i = 0; i < trees_.size(); ++i)
    if (node.parts[i].works) registered.trees.push_back(part_message(i, index));
  send(out, node, std::move(registered));
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    send_parent(out, i, node);
    if (node.parts[i].works) send_parents_of_children(out, i, index);
  }
  retry_held(out, now);
  return out;
}

ActionList Manager::node_listens(StreamId stream, const Listening& listening, Time now) {
  now_ = now;
  ActionList out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  if (listening.tree >= node->parts.size() || listening.address.size() >= wire::kAddressMax) {
    out.push_back(
        Refuse{stream, Error{Errc::invalid, "it reported an address for an unknown tree, or one that is too long"}});
    return out;
  }
  auto& part = node->parts[listening.tree];
  part.why = listening.why.substr(0, 300);
  if (listening.address.empty())
    out.push_back(Say{LogLevel::error, "GENERAL",
                      fmt::format("node {} can't listen for tree {}: {}", node->name, listening.tree + 1, part.why)});
  if (part.address == listening.address) return out;
  part.address = listening.address;
  send_parents_of_children(out, listening.tree, index_of(*node));
  finish_ready(out);
  return out;
}

ActionList Manager::node_acks(StreamId stream, std::uint64_t sequence, Time now) {
  now_ = now;
  ActionList out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  if (sequence == 0 || sequence > node->sent) {
    out.push_back(Refuse{
        stream, Error{Errc::invalid,
                      fmt::format("it acknowledged message {}, but the last one sent is {}", sequence, node->sent)}});
    return out;
  }
  const auto index = static_cast<std::uint32_t>(index_of(*node));
  note_answer(out, index, sequence);
  const auto is_it = [&](const Awaited& one) { return one.node == index && one.sequence == sequence; };
  for (auto& one : leaving_)
    if (std::erase_if(one.job.wait_for, is_it) != 0 && one.job.wait_for.empty()) {
      erase_left(out);
      build_if_nobody_runs(out);
      retry_held(out, now);
      return out;
    }
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;  // The call below may erase this job.
    if (job->second.granted) continue;
    if (std::erase_if(job->second.wait_for, is_it) != 0) finish_if_ready(out, job);
  }
  return out;
}

ActionList Manager::node_defers(StreamId stream, const Deferred& deferred) {
  ActionList out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  const auto index = static_cast<std::uint32_t>(index_of(*node));
  for (auto& [id, job] : jobs_) {
    const auto is_it = [&](const Awaited& one) { return one.node == index && one.sequence == deferred.sequence; };
    if (job.granted || std::none_of(job.wait_for.begin(), job.wait_for.end(), is_it)) continue;
    job.deferred = fmt::format("node {}: {:.300}", node->name, deferred.why);
    out.push_back(Say{LogLevel::info, "JOBS", fmt::format("job_id_external: {} waits for {}", id, job.deferred)});
  }
  return out;
}

ActionList Manager::node_link(StreamId stream, const Link& link, Time now) {
  now_ = now;
  ActionList out;
  Node* node = registered(stream);
  if (node == nullptr || link.tree >= trees_.size()) return out;
  const auto parent = parent_of(link.tree, index_of(*node));
  if (parent == topo::kNone) return out;
  auto& part = node->parts[link.tree];
  if (part.link_up != link.up) {
    const auto& above = nodes_[parent].name;
    const auto where = trees_.size() == 1 ? "" : fmt::format(" in tree {}", link.tree + 1);
    out.push_back(link.up
                      ? Say{LogLevel::info, "GENERAL",
                            fmt::format("node {} is connected to its parent {}{}", node->name, above, where)}
                      : Say{LogLevel::warn, "GENERAL",
                            fmt::format("node {} lost its parent {}{}: {:.200}", node->name, above, where, link.why)});
    happened(out, link.up ? Happened::Kind::link_up : Happened::Kind::link_down, "node " + node->name,
             link.up ? fmt::format("is connected to its parent {}{}", above, where)
                     : fmt::format("lost its parent {}{}: {:.200}", above, where, link.why));
  }
  part.link_up = link.up;
  part.link_why = link.why.substr(0, 300);
  finish_ready(out);
  return out;
}

ActionList Manager::node_stream_ended(StreamId stream, Time now) {
  now_ = now;
  ActionList out;
  Node* node = registered(stream);
  if (node == nullptr) return out;
  const auto index = static_cast<std::uint32_t>(index_of(*node));
  node_by_stream_.erase(stream);
  node->stream = 0;
  if (!node->is_down) node->away_at = now + rules_.node_away;
  forget_silence(out, index);
  for (auto& part : node->parts) part.link_up = false;
  std::string running;
  for (const auto& [id, job] : jobs_)
    if (job.granted && uses(job, index)) running += fmt::format(" {}", id);
  out.push_back(Say{LogLevel::warn, "GENERAL",
                    fmt::format("node {} is down: its stream ended; jobs on it:{}", node->name,
                                running.empty() ? " none" : running)});
  happened(out, Happened::Kind::node_lost, "node " + node->name, "is down: its stream ended");
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto job = at++;
    if (!job->second.granted && uses(job->second, index))
      fail_begin(out, job,
                 fmt::format("node {} went down while the job began: start it again, see its log", node->name));
  }
  return out;
}

bool Manager::uses(const Job& job, std::size_t node) {
  return std::ranges::any_of(job.reserved,
                             [&](const auto& nodes) { return std::ranges::find(nodes, node) != nodes.end(); });
}

/// Describes which of these nodes have not registered; empty if all have.
std::string Manager::describe_missing(const std::vector<std::uint32_t>& nodes) const {
  std::vector<std::string> absent;
  for (const auto n : nodes)
    if (nodes_[n].stream == 0) absent.push_back(nodes_[n].name);
  if (absent.empty()) return {};
  if (absent.size() == 1)
    return fmt::format("node {} has not registered: start its sharp_an, or see its log", absent[0]);
  return fmt::format("nodes {} have not registered: start their sharp_an, or see their logs",
                     join(absent).substr(0, 300));
}

/// Describes the absent nodes that have work in any tree.
std::string Manager::missing_nodes() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    if (std::any_of(nodes_[n].parts.begin(), nodes_[n].parts.end(), [](const Part& part) { return part.works; }))
      all.push_back(n);
  return describe_missing(all);
}

std::pair<Capacity, Usage> Manager::capacity(std::uint32_t tree, const std::vector<std::uint32_t>& nodes) const {
  Capacity least{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  std::uint32_t osts_free = UINT32_MAX, groups_free = UINT32_MAX;
  for (const auto n : nodes) {
    const auto& who = nodes_[n].who;
    const auto& used = nodes_[n].parts[tree].used;
    least.osts = std::min(least.osts, who.osts);
    least.groups = std::min(least.groups, who.groups);
    least.payload_max = std::min(least.payload_max, who.payload_max);
    osts_free = std::min(osts_free, who.osts - std::min(used.osts, who.osts));
    groups_free = std::min(groups_free, who.groups - std::min(used.groups, who.groups));
  }
  return {least, {least.osts - std::min(osts_free, least.osts), least.groups - std::min(groups_free, least.groups)}};
}

/// Returns the total of which each user may have a share: all trees together, each as wide as its weakest node.
Capacity Manager::user_capacity() const {
  Capacity all{0, 0, 0};
  for (std::uint32_t i = 0; i < trees_.size(); ++i) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].parts[i].works && nodes_[n].stream != 0) nodes.push_back(n);
    if (nodes.empty()) continue;
    const auto least = capacity(i, nodes).first;
    all.osts += least.osts;
    all.groups += least.groups;
  }
  return all;
}

}  // namespace sumac::manager
