#pragma once
// The aggregation tree: one tree that spans all nodes of the fabric, and the leaf node of every host.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::topo {

struct TreeNode {
  std::string name;
  std::int32_t parent = -1;  ///< Index into AggregationTree::nodes; -1 at the root.
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> children;     ///< In the order of the file.
  std::uint64_t link_rate_bits_per_s = 0;  ///< What all its children and its parent share; 0: no limit.
};

struct AggregationTree {
  std::vector<TreeNode> nodes;              ///< As Fabric::nodes, same order.
  std::uint32_t root = 0;                   ///< Index into nodes.
  std::vector<std::uint32_t> leaf_of_host;  ///< As Fabric::hosts, same order: index into nodes.
};

/// The root is the one that the file names, else the centre: the node whose farthest host is nearest; of equals the
/// one with the least sum of distances, then the first name. A node's parent is the nearest of the nodes that are nearer to
/// the root than itself (of equals the one nearest to the root, then the first name), so parents never form a circle.
/// A host's leaf node is the nearest node, of equals the first name. Distances count links.
/// The fabric must have passed validate(). Errc::not_found if it has no node at all.
Result<AggregationTree> build_tree(const Fabric& fabric);

/// The rate of a node's own link: what the file says, else that of the host it is on, else 0 (at a switch: no limit).
std::uint64_t link_rate_bits_per_s(const Fabric& fabric, const Node& node);

}  // namespace sumac::topo
