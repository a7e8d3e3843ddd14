#include "lab/plan.hpp"

#include <algorithm>
#include <cassert>

#include "topo/graph.hpp"

namespace sumac::lab {

namespace {

// 10.77/16 is ours alone: the namespaces have no way out, so it can't meet an address of the machine.
constexpr std::uint32_t kNetwork = 10U << 24U | 77U << 16U;

std::uint32_t ip_of(std::size_t place_index) {  // .0 and .255 are left out: some programs refuse them
  const auto i = static_cast<std::uint32_t>(place_index);
  return kNetwork | (i / 254) << 8U | (i % 254 + 1);
}

}  // namespace

Mac mac_of(std::size_t place_index) {
  return {0x02, 0x53, 0x4d, 0x00, static_cast<std::uint8_t>(place_index >> 8U), static_cast<std::uint8_t>(place_index)};
}

std::string ip_text(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24U, ip >> 16U & 255U, ip >> 8U & 255U, ip & 255U);
}

Plan make_plan(const topo::Fabric& fabric) {
  const topo::Graph graph{fabric};
  Plan plan;
  plan.seed = fabric.seed;
  plan.offload = fabric.offload;
  std::vector<std::uint32_t> vertices;
  const auto add = [&](const std::string& name, PlaceKind kind, const std::string& at) {
    const auto index = plan.places.size();
    plan.places.push_back({name, kind, at, ip_of(index), mac_of(index)});
    vertices.push_back(*graph.find(kind == PlaceKind::host ? name : at));
  };
  for (const auto& host : fabric.hosts) add(host.name, PlaceKind::host, host.leaf);
  for (const auto& node : fabric.nodes) {
    if (!node.place.at_switch.empty()) add(node.name, PlaceKind::node, node.place.at_switch);
  }
  if (fabric.manager && !fabric.manager->place.at_switch.empty()) {
    add("manager", PlaceKind::manager, fabric.manager->place.at_switch);
  }
  for (std::uint32_t edge = 0; edge < graph.edge_count(); ++edge) {
    const bool between_switches = edge < fabric.links.size();
    const auto& a = between_switches ? fabric.links[edge].a : fabric.hosts[edge - fabric.links.size()].name;
    const auto& b = between_switches ? fabric.links[edge].b : fabric.hosts[edge - fabric.links.size()].leaf;
    const auto& spec = graph.spec(edge);
    if (spec.loss > 0) plan.offload = false;
    plan.links.push_back({a, b, spec});
    plan.links.push_back({b, a, spec});
    plan.mtu_bytes = edge == 0 ? spec.mtu_bytes : std::min(plan.mtu_bytes, spec.mtu_bytes);
  }
  for (const auto from : vertices) {
    for (const auto to : vertices) {
      auto& path = plan.paths.emplace_back();
      for (const auto& hop : graph.route(from, to))
        path.push_back(static_cast<std::uint16_t>(2 * hop.edge + (hop.forward ? 0 : 1)));
    }
  }
  return plan;
}

const Place* find_place(const Plan& plan, const std::string& name) {
  const auto at = std::find_if(plan.places.begin(), plan.places.end(), [&](const Place& p) { return p.name == name; });
  return at == plan.places.end() ? nullptr : &*at;
}

const Place& place_of(const Plan& plan, const topo::Placement& placement, const std::string& own_name) {
  const auto* place = find_place(plan, placement.at_host.empty() ? own_name : placement.at_host);
  assert(place && "the plan was made of another fabric");
  return *place;
}

}  // namespace sumac::lab
