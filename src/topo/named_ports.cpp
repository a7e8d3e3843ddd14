#include "topo/named_ports.hpp"

#include <algorithm>
#include <charconv>

#include "topo/switch_graph.hpp"

namespace sumac::topo {
namespace {

Result<NamedPort> parse_one(std::string_view text) {
  const auto colon = text.rfind(':');
  NamedPort port{std::string(text.substr(0, colon)), 1};
  if (colon == std::string_view::npos) return port;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port.number);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || port.number == 0)
    return fail(Errc::invalid, "device {:.64}: port {:.16} is no number from 1", text, digits);
  return port;
}

const std::string& device_of(const Host& host, std::uint32_t port) {
  return port == 0 ? host.device : host.rails[port - 1].device;
}
const std::string& switch_of(const Host& host, std::uint32_t port) {
  return port == 0 ? host.leaf : host.rails[port - 1].leaf;
}

}  // namespace

Result<std::vector<NamedPort>> parse_named_ports(std::string_view text) {
  std::vector<NamedPort> ports;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    auto port = parse_one(word);
    if (!port) return tl::unexpected(port.error());
    ports.push_back(*std::move(port));
  }
  return ports;
}

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
  std::optional<SwitchGraph> graph;  // made where a port that the tree does not use is named: then planes count
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
