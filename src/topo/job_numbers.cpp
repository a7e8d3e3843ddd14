#include "topo/job_numbers.hpp"

#include <algorithm>
#include <unordered_map>

namespace sumac::topo {
namespace {

/// 0 means no limit, so the lesser of two rates is not their minimum.
std::uint64_t slower(std::uint64_t a, std::uint64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

}  // namespace

JobTreeNumbers numbers_of(const Fabric& fabric, const AggregationTree& tree, const JobTree& job) {
  JobTreeNumbers found;
  std::unordered_map<std::uint32_t, std::uint32_t> streams;  // [link between switches]: streams that cross it
  const auto cross = [&](const std::vector<std::uint32_t>& links) {
    std::uint64_t delay = 0;
    for (const auto link : links) {
      ++streams[link];
      delay += static_cast<std::uint64_t>(fabric.links[link].spec.delay_ns);
    }
    return delay;
  };
  // Follows one node to another above it in the tree: a node in between is passed like any other vertex. A tree that was
  // extended since the job got its part may lead a host by a nearer leaf past that node: then to the root.
  const auto cross_up = [&](std::uint32_t from, std::uint32_t to) {
    std::uint64_t delay = 0;
    for (auto at = from; at != to && at < tree.nodes.size(); at = static_cast<std::uint32_t>(tree.nodes[at].parent))
      delay += cross(tree.nodes[at].route);
    return delay;
  };
  // Returns the host that a node is on: traffic inside that host does not cross its link.
  const auto carrier_of = [&](const JobNode& node) { return tree.nodes[node.node].host; };
  const auto own_delay = [&](std::uint32_t host) {
    return host == kNone ? 0 : static_cast<std::uint64_t>(fabric.hosts[host].link.delay_ns);
  };
  std::vector<std::uint64_t> down(job.nodes.size(), 0);  // delay from the root to each node
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    const auto& node = job.nodes[i];
    const auto carrier = carrier_of(node);
    std::size_t over_its_link = node.children.size() + node.hosts.size();
    if (node.parent >= 0) {
      const auto parent = static_cast<std::size_t>(node.parent);
      const auto above = carrier_of(job.nodes[parent]);
      const bool stays = carrier != kNone && carrier == above;
      down[i] = down[parent] + cross_up(node.node, job.nodes[parent].node);
      if (!stays) down[i] += own_delay(carrier) + own_delay(above);
      if (!stays) ++over_its_link;
    }
    if (carrier != kNone) {
      if (std::ranges::find(job.hosts, carrier) != job.hosts.end()) ++found.member_nodes;
      over_its_link -= static_cast<std::size_t>(std::ranges::count(node.hosts, carrier));
      over_its_link -= static_cast<std::size_t>(
          std::ranges::count_if(node.children, [&](auto child) { return carrier_of(job.nodes[child]) == carrier; }));
    }
    if (const auto rate = tree.nodes[node.node].link_rate_bits_per_s; rate != 0 && over_its_link != 0)
      found.rate_bits_per_s = slower(found.rate_bits_per_s, std::max<std::uint64_t>(rate / over_its_link, 1));
  }
  std::uint64_t port = 0;  // the slowest port by which the hosts reach this tree
  for (std::size_t i = 0; i < job.hosts.size(); ++i) {
    const auto host = job.hosts[i];
    if (tree.leaf_of_host[host] == kNone) continue;  // The host has left the fabric since.
    const auto& leaf = job.nodes[job.leaf[i]];
    auto delay = down[job.leaf[i]] + cross(tree.route_of_host[host]) + cross_up(tree.leaf_of_host[host], leaf.node);
    const auto number = tree.port_of_host[host];
    const auto& spec = number == 0 ? fabric.hosts[host].link : fabric.hosts[host].rails[number - 1].link;
    port = slower(port, spec.rate_bits_per_s);
    if (carrier_of(leaf) != host) delay += static_cast<std::uint64_t>(spec.delay_ns) + own_delay(carrier_of(leaf));
    found.delay_ns = std::max(found.delay_ns, delay);
  }
  // A link between switches limits nothing when it passes as much as the ports can send.
  for (const auto& [link, count] : streams)
    if (const auto rate = fabric.links[link].spec.rate_bits_per_s; rate != 0 && (port == 0 || rate / count < port))
      found.rate_bits_per_s = slower(found.rate_bits_per_s, std::max<std::uint64_t>(rate / count, 1));
  // Rails can differ: this rail's ports may be faster than the known number of the hosts, which is their slowest port.
  if (found.rate_bits_per_s == 0 && port > numbers_of(fabric, job.hosts).rate_bits_per_s) found.rate_bits_per_s = port;
  return found;
}

JobHostNumbers numbers_of(const Fabric& fabric, std::span<const std::uint32_t> hosts) {
  JobHostNumbers found;
  for (const auto index : hosts) {
    const auto& host = fabric.hosts[index];
    const auto rails = static_cast<std::uint32_t>(1 + host.rails.size());
    found.rails = found.rails == 0 ? rails : std::min(found.rails, rails);
    found.rate_bits_per_s = slower(found.rate_bits_per_s, host.link.rate_bits_per_s);
    for (const auto& rail : host.rails)
      found.rate_bits_per_s = slower(found.rate_bits_per_s, rail.link.rate_bits_per_s);
  }
  return found;
}

}  // namespace sumac::topo
