#pragma once
// This is the tests' own definition of a right tree.
#include <string>
#include <vector>

#include "topo/tree.hpp"

namespace sumac::topo {

struct TreeLaw {
  std::uint32_t radix = 0;
  bool shortest = false;  ///< Every host's path is a shortest one; all nodes of the plane are in the tree.
};

/// Returns "" or the fault: a loop, a node or host left out, a broken route, too many children, a path too long.
std::string check_tree(const Fabric& fabric, const AggregationTree& tree, const TreeLaw& law);

/// Returns the nodes that have children or hosts.
std::vector<bool> working_nodes(const Fabric& fabric, const AggregationTree& tree);
std::uint32_t most_children(const Fabric& fabric, const AggregationTree& tree);
bool same_tree(const AggregationTree& a, const AggregationTree& b);  ///< Compares all but the ids.

/// The first returns the links from a node's switch to the farthest host with ranks; the second returns the least of
/// that over all nodes.
std::uint32_t farthest_host(const Fabric& fabric, std::uint32_t node);
std::uint32_t least_farthest_host(const Fabric& fabric);

}  // namespace sumac::topo
