#include "topo/graph.hpp"

#include <algorithm>

namespace sumac::topo {

Graph::Graph(const Fabric& fabric) : fabric_(fabric), adjacency_(fabric.switches.size() + fabric.hosts.size()) {
  const auto join = [&](std::uint32_t a, std::uint32_t b, std::uint32_t edge) {
    adjacency_[a].push_back({b, Hop{edge, true}});
    adjacency_[b].push_back({a, Hop{edge, false}});
  };
  std::uint32_t edge = 0;
  for (const auto& link : fabric.links) join(*find(link.a), *find(link.b), edge++);
  for (std::uint32_t i = 0; i < fabric.hosts.size(); ++i) {
    const auto& host = fabric.hosts[i];
    for (std::uint32_t rail = 0; rail <= host.rails.size(); ++rail) {
      const auto leaf = *find(rail == 0 ? host.leaf : host.rails[rail - 1].leaf);
      ports_.push_back({i, rail, edge, leaf});
      join(host_vertex(i), leaf, edge++);
    }
  }
  reach_.reserve(vertex_count());
  for (std::uint32_t v = 0; v < vertex_count(); ++v) reach_.push_back(walk(v));
}

std::uint32_t Graph::host_vertex(std::uint32_t host_index) const {
  return static_cast<std::uint32_t>(fabric_.switches.size()) + host_index;
}

std::optional<std::uint32_t> Graph::find(std::string_view name) const {
  for (std::uint32_t i = 0; i < fabric_.switches.size(); ++i) {
    if (fabric_.switches[i].name == name) return i;
  }
  for (std::uint32_t i = 0; i < fabric_.hosts.size(); ++i) {
    if (fabric_.hosts[i].name == name) return host_vertex(i);
  }
  return std::nullopt;
}

const LinkSpec& Graph::spec(std::uint32_t edge) const {
  const auto links = fabric_.links.size();
  if (edge < links) return fabric_.links[edge].spec;
  const auto& port = ports_[edge - links];
  const auto& host = fabric_.hosts[port.host];
  return port.rail == 0 ? host.link : host.rails[port.rail - 1].link;
}

Graph::Reach Graph::walk(std::uint32_t source) const {
  Reach reach{std::vector(vertex_count(), kUnreachable), std::vector(vertex_count(), Hop{}),
              std::vector(vertex_count(), source)};
  std::vector<std::uint32_t> queue{source};
  reach.distance[source] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const auto here = queue[next];
    if (here != source && here >= fabric_.switches.size()) continue;  // a host forwards nothing
    for (const auto& neighbour : adjacency_[here]) {
      if (reach.distance[neighbour.vertex] != kUnreachable) continue;
      reach.distance[neighbour.vertex] = reach.distance[here] + 1;
      reach.last[neighbour.vertex] = neighbour.hop;
      reach.before[neighbour.vertex] = here;
      queue.push_back(neighbour.vertex);
    }
  }
  return reach;
}

std::uint32_t Graph::distance(std::uint32_t from, std::uint32_t to) const { return reach_[from].distance[to]; }

std::vector<Hop> Graph::route(std::uint32_t from, std::uint32_t to) const {
  std::vector<Hop> hops;
  if (distance(from, to) == kUnreachable) return hops;
  for (auto at = to; at != from; at = reach_[from].before[at]) hops.push_back(reach_[from].last[at]);
  std::reverse(hops.begin(), hops.end());
  return hops;
}

}  // namespace sumac::topo
