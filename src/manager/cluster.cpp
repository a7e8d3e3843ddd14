#include "manager/cluster.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "control/command_line.hpp"
#include "topo/changes.hpp"
#include "wire/agg.hpp"
#include "wire/host.hpp"

namespace sumac::manager {

Cluster::Cluster(topo::Fabric fabric, const Rules& rules) : rules_(rules), fabric_(std::move(fabric)) {
  for (std::size_t i = 0; i < fabric_.hosts.size(); ++i)
    host_by_name_[fabric_.hosts[i].name] = static_cast<std::uint32_t>(i);
  for (const auto& node : fabric_.nodes) add_node(node.name);
}

void Cluster::describe(Facts& facts) const {
  facts.sharpds_version = sharpds_version_;
  facts.fabric = &fabric_;
  facts.hosts = host_by_name_.size();
  facts.sharpds = &sharpds_;
  facts.nodes.reserve(nodes_.size());
  for (const auto& node : nodes_) {
    auto& one = facts.nodes.emplace_back();
    one.name = node.name;
    one.registered = node.stream != 0;
    one.described = node.described;
    one.silent = node.silent;
    if (!one.registered) continue;
    one.pid = node.who.pid;
    one.osts = node.who.osts;
    one.groups = node.who.groups;
    one.release = std::string_view(node.who.release).substr(0, kReleaseMax);
    for (const auto& totals : node.hop) one.hop += totals;
  }
}

void Cluster::add_node(const std::string& name) {
  node_by_name_[name] = nodes_.size();
  nodes_.emplace_back().name = name;
}

void Cluster::add_open_node(const std::string& name) {
  topo::Node added;
  added.name = name;
  added.place.at_switch = topo::kAnywhere;
  fabric_.nodes.push_back(std::move(added));
  add_node(name);
}

void Cluster::restore_open_fabric(const std::string& saved) {
  for (std::size_t at = 0; at < saved.size();) {
    const auto end = std::min(saved.find('\n', at), saved.size());
    const auto line = std::string_view(saved).substr(at, end - at);
    at = end + 1;
    const auto name = [&](std::size_t from) { return std::string(line.substr(from, line.find(' ', from) - from)); };
    if (line.starts_with("node "))
      add_open_node(name(5));
    else if (line.starts_with("host "))
      add_open_host(name(5));
  }
}

void Cluster::become(const topo::Fabric& described) {
  topo::become(fabric_, described);
  for (std::size_t i = 0; i < fabric_.nodes.size(); ++i) {
    if (i == nodes_.size()) add_node(fabric_.nodes[i].name);
    // A described and present node is up; a described node that was never seen is expected; an undescribed one is down,
    // even if it registers.
    nodes_[i].described = fabric_.nodes[i].up;
    if (nodes_[i].described && nodes_[i].stream == 0 && nodes_[i].seen)
      fabric_.nodes[i].up = nodes_[i].away_at != kNever;
    if (nodes_[i].is_down) fabric_.nodes[i].up = false;
  }
  host_by_name_.clear();
  for (std::size_t i = 0; i < fabric_.hosts.size(); ++i)
    if (fabric_.hosts[i].up) host_by_name_[fabric_.hosts[i].name] = static_cast<std::uint32_t>(i);
  ++sharpds_version_;
}

std::optional<std::size_t> Cluster::node_of(StreamId stream) const {
  const auto found = node_by_stream_.find(stream);
  return found == node_by_stream_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Cluster::node_named(const std::string& name) const {
  const auto found = node_by_name_.find(name);
  return found == node_by_name_.end() ? std::nullopt : std::optional(found->second);
}

Result<> Cluster::may_register(const NodeRegister& who, const std::string& address) const {
  if (who.version != control::kControlVersion)
    return fail(Errc::unsupported,
                "it speaks version {} of the control messages, the manager {}: install the same version everywhere",
                who.version, control::kControlVersion);
  for (const auto& listening : who.trees)
    if (listening.address.empty() || listening.address.size() >= wire::kAddressMax)
      return fail(Errc::invalid, "its address has {} bytes, legal are 1 to {}", listening.address.size(),
                  wire::kAddressMax - 1);
  if (who.osts == 0 || who.groups == 0 || who.groups > 0xFFFF || who.payload_max == 0 ||
      who.payload_max > wire::kPayloadMax)
    return fail(Errc::invalid, "its capacity makes no sense: {} OSTs, {} groups, payload {}", who.osts, who.groups,
                who.payload_max);
  if (rules_.open && (who.name.empty() || who.name.size() >= wire::kHostNameMax ||
                      who.name.find_first_of(" \t\n") != std::string::npos))
    return fail(Errc::invalid, "its name has {} bytes, or blanks: 1 to {} without blanks are legal", who.name.size(),
                wire::kHostNameMax - 1);
  const auto found = node_named(who.name);
  if ((!found || !nodes_[*found].described) && !rules_.open) {
    std::vector<std::string> known;
    for (const auto& node : nodes_)
      if (node.described) known.push_back(node.name);
    return fail(Errc::not_found, "the fabric has no node of that name: --name is one of {}",
                fmt::format("{}", fmt::join(known, ", ")).substr(0, 400));
  }
  if (found && is_there(*found))
    return fail(Errc::exists, "node {} is registered already, by pid {}{}{}: stop one of the two", who.name,
                nodes_[*found].who.pid, address.empty() ? "" : " at ", address);
  return {};
}

Result<bool> Cluster::node_comes(const NodeRegister& who) {
  const auto found = node_named(who.name);
  auto key = found && nodes_[*found].key ? *nodes_[*found].key : rules_.draw_secret();
  if (!key) return fail(key.error().code, "the manager can't draw a key: {}", key.error().context);
  if (!found) add_open_node(who.name);
  const auto index = found ? *found : nodes_.size() - 1;
  nodes_[index].key = *key;
  nodes_[index].away_at = kNever;
  return !std::exchange(fabric_.nodes[index].up, true) || !found;
}

void Cluster::node_is(std::size_t node, const NodeRegister& who) {
  nodes_[node].seen = true;
  nodes_[node].who = who;
  nodes_[node].hop.clear();  // It reports them anew.
}

void Cluster::note_hop(const Trees& trees, std::size_t node, const HopReport& report) {
  if (report.tree >= trees.size()) return;
  auto& hop = nodes_[node].hop;
  hop.resize(trees.size());
  hop[report.tree] = report.totals;
}

void Cluster::node_listens_on(std::size_t node, StreamId stream) {
  nodes_[node].stream = stream;
  nodes_[node].sent = 0;
  node_by_stream_[stream] = node;
}

std::vector<std::size_t> Cluster::node_leaves(std::size_t index, Time now) {
  auto& node = nodes_[index];
  node_by_stream_.erase(node.stream);
  node.stream = 0;
  if (!node.is_down) node.away_at = now + rules_.node_away;
  // The end of the stream says more than its silence.
  node.silent_to.clear();
  node.silent = node.is_down = false;
  std::vector<std::size_t> accused;
  for (std::size_t other = 0; other < nodes_.size(); ++other)
    if (std::erase_if(nodes_[other].silent_to, [&](const auto& one) { return one.first.second == index; }) != 0)
      accused.push_back(other);
  return accused;
}

void Cluster::note_inspectable(StreamId stream, const std::string& address) {
  const auto kept = address.substr(0, kInspectableMax);
  if (const auto node = node_of(stream)) nodes_[*node].inspectable = kept;
  if (const auto sharpd = sharpds_.find(stream); sharpd != sharpds_.end()) sharpd->second.inspectable = kept;
}

void Cluster::send(Step& step, std::size_t node, ForNode message) {
  step.actions.push_back(SendToNode{nodes_[node].stream, ++nodes_[node].sent, std::move(message)});
}

std::string Cluster::describe_missing(const std::vector<std::uint32_t>& nodes) const {
  std::vector<std::string_view> absent;
  for (const auto n : nodes)
    if (!is_there(n)) absent.push_back(nodes_[n].name);
  if (absent.empty()) return {};
  if (absent.size() == 1)
    return fmt::format("node {} has not registered: start its sharp_an, or see its log", absent[0]);
  return fmt::format("nodes {} have not registered: start their sharp_an, or see their logs",
                     fmt::format("{}", fmt::join(absent, ", ")).substr(0, 300));
}

void Cluster::expect_nodes(Time now) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (!is_there(i) && fabric_.nodes[i].up && nodes_[i].away_at == kNever) nodes_[i].away_at = now + rules_.settle;
}

void Cluster::do_without(std::size_t node, bool is_down) {
  nodes_[node].away_at = kNever;
  nodes_[node].is_down = is_down;
  fabric_.nodes[node].up = false;
}

std::vector<std::string> Cluster::give_up_absent(Time now) {
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].away_at > now) continue;
    do_without(i);
    gone.push_back(nodes_[i].name);
  }
  return gone;
}

Time Cluster::next_deadline(Time looked) const {
  Time next = kNever;
  for (const auto& node : nodes_) {
    next = std::min(next, node.away_at);
    if (node.silent && !node.answers && !node.is_down)
      next = std::min(next, std::max(node.silent_since, looked) + kAnswerWithin);
  }
  return next;
}

}  // namespace sumac::manager
