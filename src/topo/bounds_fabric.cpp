#include "topo/bounds_fabric.hpp"

#include <algorithm>
#include <set>

namespace sumac::topo {
namespace {

const Host* host_of(const Fabric& fabric, const Node& node) {
  const auto at = std::ranges::find(fabric.hosts, node.place.at_host, &Host::name);
  return node.place.at_host.empty() || at == fabric.hosts.end() ? nullptr : &*at;
}

const LinkSpec& port(const Host& host, std::uint32_t number) {
  return number == 0 || number > host.rails.size() ? host.link : host.rails[number - 1].link;
}

std::uint64_t delay_of(const Fabric& fabric, std::span<const std::uint32_t> links) {
  std::uint64_t delay = 0;
  for (const auto link : links) delay += static_cast<std::uint64_t>(fabric.links[link].spec.delay_ns);
  return delay;
}

/// Of the link of the host that carries a node; 0 at a switch.
std::uint64_t own_delay(const Fabric& fabric, std::uint32_t node) {
  const Host* host = host_of(fabric, fabric.nodes[node]);
  return host == nullptr ? 0 : static_cast<std::uint64_t>(host->link.delay_ns);
}

/// From one node to another above it in the tree.
std::uint64_t delay_up(const Fabric& fabric, const AggregationTree& tree, std::uint32_t from, std::uint32_t to) {
  std::uint64_t delay = 0;
  for (std::uint32_t at = from; at != to && tree.nodes[at].parent >= 0;
       at = static_cast<std::uint32_t>(tree.nodes[at].parent))
    delay += delay_of(fabric, tree.nodes[at].route);
  return delay;
}

/// From host `h` to the root of the job's tree.
std::uint64_t delay_to_root(const Fabric& fabric, const AggregationTree& tree, const JobTree& job, std::size_t h) {
  const auto host = job.hosts[h];
  std::uint32_t at = job.leaf[h];
  const std::uint32_t leaf = job.nodes[at].node;
  std::uint64_t delay =
      delay_of(fabric, tree.route_of_host[host]) + delay_up(fabric, tree, tree.leaf_of_host[host], leaf);
  if (host_of(fabric, fabric.nodes[leaf]) != &fabric.hosts[host])
    delay += static_cast<std::uint64_t>(port(fabric.hosts[host], tree.port_of_host[host]).delay_ns) +
             own_delay(fabric, leaf);
  while (job.nodes[at].parent >= 0) {
    const auto above = static_cast<std::uint32_t>(job.nodes[at].parent);
    const auto from = job.nodes[at].node, to = job.nodes[above].node;
    delay += own_delay(fabric, from) + delay_up(fabric, tree, from, to) + own_delay(fabric, to);
    at = above;
  }
  return delay;
}

}  // namespace

TreeBound tree_bound(const Fabric& fabric, const AggregationTree& tree, const JobTree& job) {
  TreeBound bound;
  for (const auto& at : job.nodes) {
    const Node& node = fabric.nodes[at.node];
    const Host* carrier = host_of(fabric, node);
    const auto shares = [&](std::uint32_t host) { return carrier == &fabric.hosts[host]; };
    if (std::ranges::any_of(job.hosts, shares)) ++bound.member_nodes;
    const auto rate = link_rate_bits_per_s(fabric, node);
    if (rate == 0) continue;
    std::uint64_t vectors = at.parent >= 0 ? 1 : 0;
    for (const auto host : at.hosts) vectors += shares(host) ? 0 : 1;
    for (const auto child : at.children)
      vectors += carrier != nullptr && host_of(fabric, fabric.nodes[job.nodes[child].node]) == carrier ? 0 : 1;
    const auto passes = rate / std::max<std::uint64_t>(1, vectors);
    bound.rate_bits_per_s = bound.rate_bits_per_s == 0 ? passes : std::min(bound.rate_bits_per_s, passes);
  }
  for (std::size_t h = 0; h < job.hosts.size(); ++h)
    bound.delay_ns = std::max(bound.delay_ns, delay_to_root(fabric, tree, job, h));
  return bound;
}

WaysFabric ways_fabric(const Fabric& fabric, std::span<const AggregationTree> trees, std::span<const JobTree> jobs) {
  WaysFabric ways;
  std::set<std::uint32_t> member_nodes;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ways.trees.push_back(tree_bound(fabric, trees[i], jobs[i]));
    for (const auto& at : jobs[i].nodes)
      for (const auto host : jobs[i].hosts)
        if (host_of(fabric, fabric.nodes[at.node]) == &fabric.hosts[host]) member_nodes.insert(at.node);
    const auto& tree = ways.trees.back();
    const auto hop = tree.rate_bits_per_s == 0 ? 2 * tree.delay_ns : tree.delay_ns;
    ways.hop_delay_ns = i == 0 ? hop : std::min(ways.hop_delay_ns, hop);
  }
  ways.nodes_on_member_hosts = static_cast<std::uint32_t>(member_nodes.size());
  if (jobs.empty()) return ways;
  ways.hosts = static_cast<std::uint32_t>(jobs.front().hosts.size());
  for (const auto index : jobs.front().hosts) {
    const Host& host = fabric.hosts[index];
    const auto ports = static_cast<std::uint32_t>(1 + host.rails.size());
    ways.rails = index == jobs.front().hosts.front() ? ports : std::min(ways.rails, ports);
    for (std::uint32_t number = 0; number < ports; ++number)
      if (const auto rate = port(host, number).rate_bits_per_s; rate != 0)
        ways.port_rate_bits_per_s = ways.port_rate_bits_per_s == 0 ? rate : std::min(ways.port_rate_bits_per_s, rate);
  }
  return ways;
}

}  // namespace sumac::topo
