#include "lab/plan.hpp"

#include <algorithm>
#include <cassert>

#include "topo/graph.hpp"

namespace sumac::lab {

namespace {

// The lab alone uses 10.77/16 and the following networks: the namespaces have no route outside, so these never conflict
// with an address of the machine. Each plane has one network, numbered within in the order of the namespaces.
constexpr std::uint32_t kNetwork = 10U << 24U;
constexpr std::uint32_t kFirstPlane = 77;

std::uint32_t ip_of(std::uint32_t plane, std::uint32_t i) {  // .0 and .255 are left out: some programs refuse them
  return kNetwork | (kFirstPlane + plane) << 16U | (i / 254) << 8U | (i % 254 + 1);
}

/// Adds namespaces and their ports, and knows the plane of each switch.
class Builder {
 public:
  Builder(const topo::Graph& graph, const topo::Fabric& fabric, Plan& plan) : graph_(graph), plan_(plan) {
    const auto switches = static_cast<std::uint32_t>(fabric.switches.size());
    constexpr auto kNone = topo::kUnreachable;
    plane_of_.assign(switches, kNone);
    for (std::uint32_t i = 0; i < switches; ++i) {
      if (plane_of_[i] != kNone) continue;
      for (std::uint32_t j = i; j < switches; ++j)
        if (graph.distance(i, j) != kNone) plane_of_[j] = static_cast<std::uint32_t>(first_of_.size());
      first_of_.push_back(i);
    }
    next_in_.assign(first_of_.size(), 0);
  }

  void place(const std::string& name, PlaceKind kind) { plan_.places.push_back({name, kind, plan_.ports.size(), 0}); }

  /// Adds a port to the namespace made last. `edge`: its link; none: it is attached to the switch itself.
  void port(const std::string& device, std::uint32_t at_switch, const std::string& switch_name,
            std::optional<std::uint32_t> edge) {
    auto& place = plan_.places.back();
    const auto plane = plane_of_[at_switch];
    plan_.ports.push_back({device.empty() ? fmt::format("lab{}", place.port_count) : device, plan_.places.size() - 1,
                           switch_name, plane, ip_of(plane, next_in_[plane]++), mac_of(plan_.ports.size())});
    ++place.port_count;
    ends_.push_back({at_switch, edge});
  }

  const std::vector<std::uint32_t>& first_switch_of_planes() const { return first_of_; }
  std::uint32_t plane_of(std::uint32_t at_switch) const { return plane_of_[at_switch]; }

  void paths() {
    for (std::size_t from = 0; from < ends_.size(); ++from)
      for (std::size_t to = 0; to < ends_.size(); ++to) plan_.paths.push_back(path(from, to));
  }

  /// Derives floods from the paths, since the links of a plane form a tree: a common beginning of several paths is
  /// crossed once.
  void floods() {
    for (std::size_t from = 0; from < ends_.size(); ++from) {
      std::vector<Way> ways;
      for (std::size_t to = 0; to < ends_.size(); ++to)
        if (to != from && plan_.ports[to].plane == plan_.ports[from].plane)
          ways.push_back({&plan_.path(from, to), static_cast<std::uint16_t>(to)});
      std::ranges::stable_sort(
          ways, {}, [](const Way& way) -> const auto& { return *way.links; });
      grow(plan_.floods.emplace_back(1), ways, 0);
      plan_.floods.back().front().end = static_cast<std::uint32_t>(plan_.floods.back().size());
    }
  }

 private:
  struct Way {
    const std::vector<std::uint16_t>* links;
    std::uint16_t port;
  };
  /// `ways` begin with the same `depth` links; those that end there come first.
  static void grow(std::vector<Branch>& flood, std::span<const Way> ways, std::size_t depth) {
    while (!ways.empty()) {
      const auto at = flood.size();
      if (ways.front().links->size() == depth) {
        flood.push_back({Branch::kNone, ways.front().port, static_cast<std::uint32_t>(at + 1)});
        ways = ways.subspan(1);
        continue;
      }
      const auto link = (*ways.front().links)[depth];
      const auto alike =
          std::ranges::find_if(ways, [&](const Way& way) { return (*way.links)[depth] != link; }) - ways.begin();
      flood.push_back({link, Branch::kNone, 0});
      grow(flood, ways.first(static_cast<std::size_t>(alike)), depth + 1);
      flood[at].end = static_cast<std::uint32_t>(flood.size());
      ways = ways.subspan(static_cast<std::size_t>(alike));
    }
  }

  struct End {
    std::uint32_t at;
    std::optional<std::uint32_t> edge;
  };

  std::vector<std::uint16_t> path(std::size_t from, std::size_t to) const {
    std::vector<std::uint16_t> links;
    if (from == to || plan_.ports[from].plane != plan_.ports[to].plane) return links;
    // Appends the index of an edge's direction in Plan::links; of a host's link the direction up is the forward one.
    const auto cross = [&](std::uint32_t edge, bool forward) {
      links.push_back(static_cast<std::uint16_t>(2 * edge + (forward ? 0 : 1)));
    };
    if (ends_[from].edge) cross(*ends_[from].edge, true);
    for (const auto& hop : graph_.route(ends_[from].at, ends_[to].at)) cross(hop.edge, hop.forward);
    if (ends_[to].edge) cross(*ends_[to].edge, false);
    return links;
  }

  const topo::Graph& graph_;
  Plan& plan_;
  std::vector<std::uint32_t> plane_of_;  // [switch]: its plane
  std::vector<std::uint32_t> first_of_;  // [plane]: its first switch
  std::vector<std::uint32_t> next_in_;   // [plane]: the next free address
  std::vector<End> ends_;                // [port]: its vertex and link
};

}  // namespace

Mac mac_of(std::size_t port_index) {
  return {0x02, 0x53, 0x4d, 0x00, static_cast<std::uint8_t>(port_index >> 8U), static_cast<std::uint8_t>(port_index)};
}

std::string ip_text(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24U, ip >> 16U & 255U, ip >> 8U & 255U, ip & 255U);
}

Plan make_plan(const topo::Fabric& fabric) {
  const topo::Graph graph{fabric};
  Plan plan;
  plan.seed = fabric.seed;
  plan.offload = fabric.offload;
  Builder builder{graph, fabric, plan};
  for (std::size_t i = 0; i < graph.ports().size(); ++i) {
    const auto& port = graph.ports()[i];
    const auto& host = fabric.hosts[port.host];
    if (port.rail == 0) builder.place(host.name, PlaceKind::host);
    builder.port(port.rail == 0 ? host.device : host.rails[port.rail - 1].device, port.leaf,
                 fabric.switches[port.leaf].name, port.edge);
  }
  const auto stands_at = [&](const std::string& name) {
    const auto at = *graph.find(name);
    builder.port("", at, name, {});
    return builder.plane_of(at);
  };
  for (const auto& node : fabric.nodes) {
    if (node.place.at_switch.empty()) continue;
    builder.place(node.name, PlaceKind::node);
    stands_at(node.place.at_switch);
  }
  if (fabric.manager && !fabric.manager->place.at_switch.empty()) {
    builder.place("manager", PlaceKind::manager);
    const auto own = stands_at(fabric.manager->place.at_switch);
    // Real fabrics carry control traffic on a separate network: here nodes of other planes reach the manager in their
    // own plane.
    for (const auto at : builder.first_switch_of_planes())
      if (builder.plane_of(at) != own) stands_at(fabric.switches[at].name);
  }
  for (std::uint32_t edge = 0; edge < graph.edge_count(); ++edge) {
    const bool between_switches = edge < fabric.links.size();
    const auto* port = between_switches ? nullptr : &graph.ports()[edge - fabric.links.size()];
    const auto& a = port == nullptr ? fabric.links[edge].a : fabric.hosts[port->host].name;
    const auto& b = port == nullptr ? fabric.links[edge].b : fabric.switches[port->leaf].name;
    const auto& spec = graph.spec(edge);
    if (spec.loss > 0) plan.offload = false;
    plan.links.push_back({a, b, spec});
    plan.links.push_back({b, a, spec});
    plan.mtu_bytes = edge == 0 ? spec.mtu_bytes : std::min(plan.mtu_bytes, spec.mtu_bytes);
  }
  builder.paths();
  if (fabric.multicast) builder.floods();
  return plan;
}

std::optional<std::uint32_t> Plan::address_for(const Place& from, const Place& to) const {
  for (const auto& theirs : ports_of(to))
    for (const auto& ours : ports_of(from))
      if (ours.plane == theirs.plane) return theirs.ip;
  return std::nullopt;
}

const Place* find_place(const Plan& plan, std::string_view name) {
  const auto at = std::find_if(plan.places.begin(), plan.places.end(), [&](const Place& p) { return p.name == name; });
  return at == plan.places.end() ? nullptr : &*at;
}

const Place& place_of(const Plan& plan, const topo::Placement& placement, std::string_view own_name) {
  const auto* place = find_place(plan, placement.at_host.empty() ? own_name : std::string_view(placement.at_host));
  assert(place && "the plan was made of another fabric");
  return *place;
}

}  // namespace sumac::lab
