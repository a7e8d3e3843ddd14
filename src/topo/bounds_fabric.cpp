#include "topo/bounds_fabric.hpp"

#include <algorithm>
#include <set>

#include "topo/job_numbers.hpp"

namespace sumac::topo {

cost::WaysFabric ways_fabric(const Fabric& fabric, std::span<const AggregationTree> trees,
                             std::span<const JobTree> jobs) {
  cost::WaysFabric ways;
  std::set<std::uint32_t> member_nodes;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto numbers = numbers_of(fabric, trees[i], jobs[i]);
    ways.trees.push_back({numbers.rate_bits_per_s, numbers.delay_ns, numbers.member_nodes, jobs[i].levels()});
    for (const auto& at : jobs[i].nodes)
      if (std::ranges::find(jobs[i].hosts, trees[i].nodes[at.node].host) != jobs[i].hosts.end())
        member_nodes.insert(at.node);
  }
  ways.hop_delay_ns = cost::hop_delay_of(ways.trees);
  ways.nodes_on_member_hosts = static_cast<std::uint32_t>(member_nodes.size());
  if (jobs.empty()) return ways;
  ways.hosts = static_cast<std::uint32_t>(jobs.front().hosts.size());
  const auto hosts = numbers_of(fabric, jobs.front().hosts);
  ways.rails = hosts.rails;
  ways.port_rate_bits_per_s = hosts.rate_bits_per_s;
  return ways;
}

}  // namespace sumac::topo
