#include "topo/tree.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "topo/graph.hpp"

namespace sumac::topo {

namespace {

struct Builder {
  const Fabric& fabric;
  Graph graph{fabric};
  std::vector<std::uint32_t> at;  // vertex of each node

  explicit Builder(const Fabric& f) : fabric(f) {
    for (const auto& node : fabric.nodes) at.push_back(graph.vertex_of(node.place));
  }

  std::uint32_t between(std::uint32_t a, std::uint32_t b) const { return graph.distance(at[a], at[b]); }
  std::string_view name(std::uint32_t i) const { return fabric.nodes[i].name; }

  /// The index with the least key; keys end with the name, so there are no equals.
  template <class Key>
  std::uint32_t least(const std::vector<std::uint32_t>& candidates, Key key) const {
    return *std::min_element(candidates.begin(), candidates.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }

  std::vector<std::uint32_t> all() const {
    std::vector<std::uint32_t> indices(fabric.nodes.size());
    for (std::uint32_t i = 0; i < indices.size(); ++i) indices[i] = i;
    return indices;
  }

  std::uint32_t root() const {
    if (fabric.root) return least(all(), [&](std::uint32_t i) { return name(i) != *fabric.root; });
    return least(all(), [&](std::uint32_t i) {
      std::uint32_t farthest = 0;
      std::uint64_t sum = 0;
      for (std::uint32_t h = 0; h < fabric.hosts.size(); ++h) {
        const auto d = graph.distance(at[i], graph.host_vertex(h));
        farthest = std::max(farthest, d);
        sum += d;
      }
      return std::tuple(farthest, sum, name(i));
    });
  }

  std::uint32_t parent(std::uint32_t child, std::uint32_t root) const {
    std::vector<std::uint32_t> candidates{root};
    for (const auto i : all()) {
      if (i != root && between(i, root) < between(child, root)) candidates.push_back(i);
    }
    return least(candidates, [&](std::uint32_t i) { return std::tuple(between(child, i), between(i, root), name(i)); });
  }

  std::uint32_t leaf(std::uint32_t host) const {
    const auto vertex = graph.host_vertex(host);
    return least(all(), [&](std::uint32_t i) { return std::tuple(graph.distance(at[i], vertex), name(i)); });
  }
};

}  // namespace

std::uint64_t link_rate_bits_per_s(const Fabric& fabric, const Node& node) {
  if (node.link_rate_bits_per_s) return *node.link_rate_bits_per_s;
  for (const auto& host : fabric.hosts) {
    if (host.name == node.place.at_host) return host.link.rate_bits_per_s;
  }
  return 0;
}

Result<AggregationTree> build_tree(const Fabric& fabric) {
  if (fabric.nodes.empty()) {
    return fail(Errc::not_found, "fabric {} has no aggregation node: name one under 'nodes'", fabric.name);
  }
  const Builder builder{fabric};
  AggregationTree tree;
  tree.root = builder.root();
  for (const auto& node : fabric.nodes)
    tree.nodes.push_back({node.name, -1, 0, {}, link_rate_bits_per_s(fabric, node)});
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (i == tree.root) continue;
    const auto parent = builder.parent(i, tree.root);
    tree.nodes[i].parent = static_cast<std::int32_t>(parent);
    tree.nodes[parent].children.push_back(i);
  }
  for (auto& node : tree.nodes) {
    for (auto up = node.parent; up >= 0; up = tree.nodes[static_cast<std::size_t>(up)].parent) ++node.depth;
  }
  for (std::uint32_t h = 0; h < fabric.hosts.size(); ++h) tree.leaf_of_host.push_back(builder.leaf(h));
  return tree;
}

}  // namespace sumac::topo
