#pragma once
// Aggregation trees over a fabric: for every node its parent, for every host the node that serves it (its leaf).
// docs/adr/0021 argues the choice. In short:
// - A node stands at a switch; a node on a host counts as standing at that host's switch. Distances count links between
//   switches. Every host's way through the tree is a shortest way to the root: no tree with that root has less depth,
//   unless the radix is too small for it. A node takes what arrives at its switch; a switch without node passes it on.
// - The root is the node whose farthest host is nearest; of equals the one nearest to all, the fastest, the first name.
// - Of several shortest ways the one is taken that soonest meets a node, then whose links carry least for their rate,
//   then whose node has fewest children, over all trees that were built.
// - A node on a host with a limited link adds up for other trees than its own only where the root would have too many
//   children without it: the way past it is shorter, and its link is its own tree's. So m spare hosts make m flat trees.
// - Several trees have different roots as long as there are nodes, and take turns over the planes of the fabric and over
//   the ports of a host.
// Nothing depends on anything but the fabric: the same description gives the same trees everywhere.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "topo/fabric.hpp"
#include "topo/switch_graph.hpp"

namespace sumac::topo {

/// More children than one node should have where a deeper tree would spare it: a node serves 256 of one group at most.
inline constexpr std::uint32_t kFlatMax = 64;

struct TreeNode {
  std::string name;
  std::int32_t parent = -1;  ///< Index into AggregationTree::nodes; -1 at the root, and where in_tree is false.
  std::uint32_t depth = 0;   ///< Nodes above it.
  std::vector<std::uint32_t> children;     ///< In the order of the file.
  std::uint64_t link_rate_bits_per_s = 0;  ///< What all its children and its parent share; 0: no limit.
  std::uint32_t host = kNone;              ///< That it is on, index into Fabric::hosts; kNone: at a switch.
  bool in_tree = true;                     ///< false: it is down, in another plane, or the radix left no place for it.
  std::uint32_t links_to_root = 0;         ///< Links between switches from here to the root, through the tree.
  std::vector<std::uint32_t> route;        ///< Links (index into Fabric::links) to its parent, in order.
};

struct AggregationTree {
  std::vector<TreeNode> nodes;              ///< As Fabric::nodes, same order.
  std::uint32_t root = 0;                   ///< Index into nodes.
  std::vector<std::uint32_t> leaf_of_host;  ///< As Fabric::hosts, same order: index into nodes; kNone: not served.
  std::uint32_t id = 1;                     ///< Differs between trees of a fabric, also later ones (forest.hpp).
  std::vector<std::uint32_t> port_of_host;  ///< Which port of the host: 0 its first, then Host::rails.
  std::vector<std::vector<std::uint32_t>> route_of_host;  ///< Links from the host's switch to its leaf; mostly none.

  /// Nodes above the deepest host's leaf, and its leaf: how often a contribution is added up on its way.
  std::uint32_t levels() const;
  /// The most links between switches on the way of any host to the root.
  std::uint32_t depth_links() const;
};

struct TreeOptions {
  std::uint32_t count = 1;  ///< Trees.
  std::uint32_t radix = 0;  ///< Children of one node, hosts and nodes together; 0: no limit; 1 is refused.
};
TreeOptions tree_options(const Fabric& fabric);

/// All trees of a fabric, ids from 1. The fabric must have passed validate(), or be made of changes.hpp.
/// Errc::not_found: it has no node that is up. Errc::exhausted: the radix leaves hosts without a place.
Result<std::vector<AggregationTree>> build_trees(const Fabric& fabric, const TreeOptions& options);

/// The host that a node is on, index into Fabric::hosts; kNone: it is at a switch.
std::uint32_t host_of(const Fabric& fabric, const Node& node);

/// The rate of a node's own link: what the file says, else that of the host it is on, else 0 (at a switch: no limit).
std::uint64_t link_rate_bits_per_s(const Fabric& fabric, const Node& node);

}  // namespace sumac::topo
