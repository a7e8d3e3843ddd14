#pragma once
// The trees of a fabric while it changes. When a node, switch or link goes, only the flows that it carried move: an
// untouched tree keeps its id and everything else, and for a touched tree the change lists the nodes and hosts by which
// jobs notice it (job_tree.hpp). New parts join the trees without disturbing them.
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topo/tree.hpp"

namespace sumac::topo {

struct Forest {
  std::vector<AggregationTree> trees;
  std::uint32_t next_id = 1;
};

enum class Fate : std::uint8_t {
  kept,      ///< Nothing changed.
  extended,  ///< Same id; running jobs go on as before. Nodes or hosts came, idle nodes or hosts went, or new jobs of a
             ///< host will find a nearer leaf.
  repaired,  ///< New id, same root; nodes are gone or have other parents, hosts may have other leaves.
  rebuilt,   ///< New id, built anew: its root is gone, or the repair found no free slot for some node or host.
  lost,      ///< No node is left for it.
};

struct TreeChange {
  std::uint32_t before = 0;  ///< The old id.
  std::uint32_t after = 0;   ///< The new id; 0 if lost.
  Fate fate = Fate::kept;
  // Indices of the fabric, in order. Only nodes that had work (children, or hosts) are listed.
  std::vector<std::uint32_t> gone;        ///< Nodes that are not in the tree any more.
  std::vector<std::uint32_t> reparented;  ///< Nodes with another parent, or another route to it.
  std::vector<std::uint32_t> moved;       ///< Hosts that are up and whose leaf, or route to it, is gone.
};

struct ForestUpdate {
  Forest forest;
  std::vector<TreeChange> changes;  ///< One for each old tree, in its order.
};

Result<Forest> build_forest(const Fabric& fabric, const TreeOptions& options);

/// Returns the forest of the changed fabric. `fabric` is the one that `forest` was made of: what left it is not `up`,
/// and nothing was erased (changes.hpp). Lost trees are not replaced; when nodes are back, build_forest() makes new
/// ones.
ForestUpdate update_forest(const Fabric& fabric, const Forest& forest, const TreeOptions& options);

}  // namespace sumac::topo
