#include "topo/named_ports.hpp"

#include <algorithm>

#include "topo/switch_graph.hpp"

namespace sumac::topo {
namespace {

const std::string& device_of(const Host& host, std::uint32_t port) {
  return port == 0 ? host.device : host.rails[port - 1].device;
}
const std::string& switch_of(const Host& host, std::uint32_t port) {
  return port == 0 ? host.leaf : host.rails[port - 1].leaf;
}

}  // namespace

std::vector<std::uint32_t> ports_named(const Host& host, std::span<const NamedPort> names) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t port = 0; port <= host.rails.size(); ++port) {
    const auto& device = device_of(host, port);
    if (device.empty()) continue;
    std::uint32_t number = 1;
    for (std::uint32_t before = 0; before < port; ++before) number += device_of(host, before) == device ? 1 : 0;
    if (std::ranges::find(names, NamedPort{device, number}) != names.end()) found.push_back(port);
  }
  return found;
}

std::optional<std::size_t> host_without_way(const Fabric& fabric, const AggregationTree& tree,
                                            std::span<const std::uint32_t> hosts, std::span<const NamedPort> names) {
  if (names.empty()) return std::nullopt;
  std::optional<SwitchGraph> graph;  // made only when a named port is not used by the tree: then planes count
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& host = fabric.hosts[hosts[i]];
    const auto ports = ports_named(host, names);
    const auto used = tree.port_of_host[hosts[i]];
    if (ports.empty() || used == kNone || std::ranges::find(ports, used) != ports.end()) continue;
    if (!graph) graph.emplace(fabric);
    const auto plane_of = [&](std::uint32_t port) { return graph->plane_of(graph->find(switch_of(host, port))); };
    if (std::ranges::none_of(ports, [&](std::uint32_t port) { return plane_of(port) == plane_of(used); })) return i;
  }
  return std::nullopt;
}

}  // namespace sumac::topo
