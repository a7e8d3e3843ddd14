#pragma once
// The tests' own idea of what a right tree is.
#include <string>
#include <vector>

#include "topo/tree.hpp"

namespace sumac::topo {

struct TreeLaw {
  std::uint32_t radix = 0;
  bool shortest = false;  ///< Every host's way is a shortest one; all nodes of the plane are in the tree.
};

/// "" or what is wrong: a loop, a node or host left out, a way that is none, too many children, a way too long.
std::string check_tree(const Fabric& fabric, const AggregationTree& tree, const TreeLaw& law);

/// Nodes that have children or hosts.
std::vector<bool> working_nodes(const Fabric& fabric, const AggregationTree& tree);
std::uint32_t most_children(const Fabric& fabric, const AggregationTree& tree);
bool same_tree(const AggregationTree& a, const AggregationTree& b);  ///< But for the id.

/// Links from a node's switch to the farthest host with ranks; and the least of that over all nodes.
std::uint32_t farthest_host(const Fabric& fabric, std::uint32_t node);
std::uint32_t least_farthest_host(const Fabric& fabric);

}  // namespace sumac::topo
