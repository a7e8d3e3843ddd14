#pragma once
// The tests of this folder share these fabrics, and their first tree.
#include "topo/fabric.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

inline Result<AggregationTree> build_tree(const Fabric& fabric) {
  auto trees = build_trees(fabric, {1, fabric.radix});
  if (!trees) return tl::unexpected(trees.error());
  return std::move(trees->front());
}

inline Host host(std::string name, std::string leaf) {
  Host made;
  made.name = std::move(name);
  made.leaf = std::move(leaf);
  return made;
}

/// Makes root with leaf1 and leaf2; h1, h2 on leaf1, h3 on leaf2; a node at each switch.
inline Fabric two_leaves() {
  Fabric fabric;
  fabric.name = "two-leaves";
  fabric.switches = {"root", "leaf1", "leaf2"};
  fabric.links = {{"leaf1", "root", {}}, {"leaf2", "root", {}}};
  fabric.hosts = {host("h1", "leaf1"), host("h2", "leaf1"), host("h3", "leaf2")};
  fabric.nodes = {{"an-root", {"root", ""}, {}}, {"an-leaf1", {"leaf1", ""}, {}}, {"an-leaf2", {"leaf2", ""}, {}}};
  fabric.manager = Manager{{"root", ""}, 6126};
  return fabric;
}

}  // namespace sumac::topo
