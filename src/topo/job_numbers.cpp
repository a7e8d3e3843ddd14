#include "topo/job_numbers.hpp"

#include <algorithm>
#include <unordered_map>

namespace sumac::topo {
namespace {

/// 0 is no limit, so the lesser of two rates is not their minimum.
std::uint64_t slower(std::uint64_t a, std::uint64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

}  // namespace

JobTreeNumbers numbers_of(const Fabric& fabric, const AggregationTree& tree, const JobTree& job) {
  JobTreeNumbers found;
  std::unordered_map<std::uint32_t, std::uint32_t> streams;  // over each link between switches
  const auto cross = [&](const std::vector<std::uint32_t>& links) {
    std::uint64_t delay = 0;
    for (const auto link : links) {
      ++streams[link];
      delay += static_cast<std::uint64_t>(fabric.links[link].spec.delay_ns);
    }
    return delay;
  };
  std::vector<std::uint64_t> down(job.nodes.size(), 0);  // delay from the root to each node
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    const auto& node = job.nodes[i];
    if (node.parent >= 0) down[i] = down[static_cast<std::size_t>(node.parent)] + cross(tree.nodes[node.node].route);
    const auto& place = fabric.nodes[node.node].place.at_host;
    std::size_t children = node.children.size() + node.hosts.size();
    if (!place.empty()) {
      const auto is_own = [&](std::uint32_t host) { return fabric.hosts[host].name == place; };
      if (std::any_of(job.hosts.begin(), job.hosts.end(), is_own)) ++found.member_nodes;
      // What its own host gives does not leave that host.
      if (std::any_of(node.hosts.begin(), node.hosts.end(), is_own)) --children;
    }
    const auto over_its_link = children + (node.parent >= 0 ? 1 : 0);
    if (const auto rate = tree.nodes[node.node].link_rate_bits_per_s; rate != 0 && over_its_link != 0)
      found.rate_bits_per_s = slower(found.rate_bits_per_s, std::max<std::uint64_t>(rate / over_its_link, 1));
  }
  for (std::size_t i = 0; i < job.hosts.size(); ++i) {
    const auto host = job.hosts[i];
    const auto& leaf = job.nodes[job.leaf[i]];
    auto delay = down[job.leaf[i]] + cross(tree.route_of_host[host]);
    // One that is attached higher than its leaf in the tree passes what lies between as anything else does.
    for (auto at = tree.leaf_of_host[host]; at != leaf.node; at = static_cast<std::uint32_t>(tree.nodes[at].parent))
      delay += cross(tree.nodes[at].route);
    const auto port = tree.port_of_host[host];
    const auto& spec = port == 0 ? fabric.hosts[host].link : fabric.hosts[host].rails[port - 1].link;
    found.delay_ns = std::max(found.delay_ns, delay + static_cast<std::uint64_t>(spec.delay_ns));
  }
  for (const auto& [link, count] : streams)
    if (const auto rate = fabric.links[link].spec.rate_bits_per_s; rate != 0)
      found.rate_bits_per_s = slower(found.rate_bits_per_s, std::max<std::uint64_t>(rate / count, 1));
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
