#include "client/tree/pays.hpp"

#include <algorithm>

namespace sumac::client {

cost::WaysFabric ways_of(const Job& job, std::uint32_t members) {
  cost::WaysFabric fabric;
  fabric.port_rate_bits_per_s = job.granted.host_rate_bits_per_s;
  fabric.hosts = std::min(members, job.hosts);
  fabric.rails = std::max(1u, job.granted.rails);
  fabric.nodes_on_member_hosts = job.granted.nodes_on_member_hosts;
  for (const auto& tree : job.trees)
    fabric.trees.push_back({tree.body.rate_bits_per_s, tree.body.delay_ns, tree.body.member_nodes});
  fabric.hop_delay_ns = cost::hop_delay_of(fabric.trees);
  return fabric;
}

}  // namespace sumac::client
