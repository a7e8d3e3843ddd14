#pragma once
// The trees of the fabric, as all machines of the manager see them. Trees and nodes are indices in the fabric.
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "topo/tree.hpp"

namespace sumac::manager {

struct Tree {
  topo::AggregationTree shape;
  bool lost = true;  ///< True if no node is left for the tree.
  /// Derived from the life of its root's process, because the root assigns group ids. 0: the root never registered.
  TreeId id{};
};
using Trees = std::vector<Tree>;

/// Returns kNone for the root, and for a node that is not in the tree.
inline std::uint32_t parent_of(const Trees& trees, std::uint32_t tree, std::size_t node) {
  if (trees[tree].lost || node >= trees[tree].shape.nodes.size()) return topo::kNone;
  const auto parent = trees[tree].shape.nodes[node].parent;
  return parent < 0 ? topo::kNone : static_cast<std::uint32_t>(parent);
}

inline NodeId node_id(std::size_t index) { return NodeId{static_cast<std::uint32_t>(index + 1)}; }

}  // namespace sumac::manager
