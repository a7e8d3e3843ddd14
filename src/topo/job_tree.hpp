#pragma once
// The part of a tree that a job needs: the nodes on the paths of its hosts up to the node where all meet, which is the
// root for this job. A host that would be alone at its leaf is attached higher, to the first node where it meets
// another: a node with nothing to add up only costs time.
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "topo/forest.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

struct JobNode {
  std::uint32_t node = 0;               ///< Index into the fabric's nodes.
  std::int32_t parent = -1;             ///< Index into JobTree::nodes; -1 at the root.
  std::vector<std::uint32_t> children;  ///< Indices into JobTree::nodes.
  std::vector<std::uint32_t> hosts;     ///< Indices into the fabric's hosts.
};

struct JobTree {
  std::vector<JobNode> nodes;        ///< The root first, parents before children.
  std::vector<std::uint32_t> hosts;  ///< The hosts in the given order.
  std::vector<std::uint32_t> leaf;   ///< [host]: index of its leaf in `nodes`.

  /// Counts the nodes above the deepest leaf, and the leaf.
  std::uint32_t levels() const;
};

struct PruneOptions {
  bool lift = true;  ///< Attach a host higher if it is alone at its leaf.
  /// [node of the fabric]: attach the hosts of these nodes higher. Empty: none.
  std::vector<bool> avoid{};
};

/// Errc::not_found: a host is not in the tree. Errc::invalid: no host, or one twice.
Result<JobTree> prune(const Fabric& fabric, const AggregationTree& tree, std::span<const std::uint32_t> hosts,
                      const PruneOptions& options = {});

/// Returns whether a job on the tree `before` must get another tree: one of its nodes is gone or has another parent
/// (except its root, whose parent it does not use), or a host has lost the way to its leaf. A host that the job
/// attached higher than `before` does uses neither the leaf nor the way to it.
bool notices(const JobTree& job, const AggregationTree& before, const TreeChange& change);

}  // namespace sumac::topo
