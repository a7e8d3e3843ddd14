#pragma once
// Aggregation trees over a fabric: they give every node a parent, and every host the node that serves it (its leaf).
// docs/adr/0021 argues the choice. In short:
// - A node is at a switch; a node on a host counts as being at that host's switch. Distances count links between
//   switches. Every host's path through the tree is a shortest path to the root: no tree with that root has less depth,
//   unless the radix is too small for it. A node takes the flows that arrive at its switch; a switch without node
//   passes them on.
// - The root is the node whose farthest host is nearest; ties go to the node nearest to all, the fastest, the first
//   name.
// - Among several shortest paths the tree takes the one that soonest meets a node, then the one whose links carry least
//   for their rate, then the one whose node has the fewest children, over all trees built so far.
// - A node on a host with a limited link adds up for other trees than its own only if the root would otherwise have too
//   many children: the path past it is shorter, and its link is for its own tree. So m spare hosts make m flat trees.
// - Several trees have different roots as long as there are nodes, and rotate over the planes of the fabric and over
//   the ports of a host.
// The trees depend on nothing but the fabric: the same description gives the same trees everywhere.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topo/fabric.hpp"
#include "topo/switch_graph.hpp"

namespace sumac::topo {

/// One node should have no more children than this when a deeper tree could spare it: a node serves at most 256 of one
/// group.
inline constexpr std::uint32_t kFlatMax = 64;

struct TreeNode {
  std::string name;
  std::int32_t parent = -1;  ///< Index into AggregationTree::nodes; -1 at the root, and when in_tree is false.
  std::uint32_t depth = 0;   ///< Number of nodes above this one.
  std::vector<std::uint32_t> children;     ///< Indices into nodes, in the order of the fabric file.
  std::uint64_t link_rate_bits_per_s = 0;  ///< All its children and its parent share this rate; 0: no limit.
  std::uint32_t host = kNone;              ///< The host that it is on, index into Fabric::hosts; kNone: at a switch.
  bool in_tree = true;                     ///< false: it is down, in another plane, or the radix left no slot for it.
  std::uint32_t links_to_root = 0;         ///< Links between switches from here to the root, through the tree.
  std::vector<std::uint32_t> route;        ///< Links (index into Fabric::links) to its parent, in order.
};

struct AggregationTree {
  std::vector<TreeNode> nodes;              ///< In the order of Fabric::nodes.
  std::uint32_t root = 0;                   ///< Index of the root in `nodes`.
  std::vector<std::uint32_t> leaf_of_host;  ///< In the order of Fabric::hosts: index into nodes; kNone: not served.
  std::uint32_t id = 1;                     ///< Differs between trees of a fabric, also later ones (forest.hpp).
  std::vector<std::uint32_t> port_of_host;  ///< The port of each host: 0 its first, then Host::rails.
  std::vector<std::vector<std::uint32_t>> route_of_host;  ///< Links from the host's switch to its leaf; mostly none.

  /// Counts the nodes above the deepest host's leaf, and its leaf: a contribution is added up so many times on its
  /// path.
  std::uint32_t levels() const;
  /// Returns the most links between switches on the path of any host to the root.
  std::uint32_t depth_links() const;
};

struct TreeOptions {
  std::uint32_t count = 1;  ///< Number of trees.
  std::uint32_t radix = 0;  ///< Children of one node, hosts and nodes together; 0: no limit; 1 is refused.
};
TreeOptions tree_options(const Fabric& fabric);

/// Returns all trees of a fabric, with ids from 1. The fabric must have passed validate(), or be made with changes.hpp.
/// Errc::not_found: it has no node that is up. Errc::exhausted: the radix leaves hosts without a slot.
Result<std::vector<AggregationTree>> build_trees(const Fabric& fabric, const TreeOptions& options);

/// Returns the host that a node is on, as index into Fabric::hosts; kNone: it is at a switch.
std::uint32_t host_of(const Fabric& fabric, const Node& node);

/// Returns the rate of a node's own link: the file's, else that of the host it is on, else 0 (at a switch: no limit).
std::uint64_t link_rate_bits_per_s(const Fabric& fabric, const Node& node);

}  // namespace sumac::topo
