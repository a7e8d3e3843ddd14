#pragma once
// The trees of a fabric while it changes. When a node, switch or link goes, only what it carried is given another place:
// a tree that it does not touch keeps its id and everything else, and of one that it does touch the change says which jobs
// notice (job_tree.hpp). What comes anew is joined to the trees without disturbing them.
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
  kept,  ///< Nothing changed.
  extended,  ///< Same id; who runs on it goes on as before. Nodes and hosts came, idle nodes or hosts went, or new jobs of a
             ///< host will find a nearer leaf.
  repaired,  ///< New id, same root; nodes are gone or have other parents, hosts may have other leaves.
  rebuilt,   ///< New id, built anew: its root is gone, or the repair found no place for somebody.
  lost,      ///< No node is left for it.
};
std::string_view to_string(Fate fate);

struct TreeChange {
  std::uint32_t before = 0;  ///< Id.
  std::uint32_t after = 0;   ///< Id; 0 if lost.
  Fate fate = Fate::kept;
  // Indices of the fabric, in order. Only of nodes that had work: children, or hosts.
  std::vector<std::uint32_t> gone;        ///< Nodes that are not in the tree any more.
  std::vector<std::uint32_t> reparented;  ///< Nodes with another parent, or another way to it.
  std::vector<std::uint32_t> moved;       ///< Hosts that are up and whose leaf, or way to it, is gone.
};

struct ForestUpdate {
  Forest forest;
  std::vector<TreeChange> changes;  ///< One for each tree there was, in that order.
};

Result<Forest> build_forest(const Fabric& fabric, const TreeOptions& options);

/// The forest of the fabric as it is now. `fabric` is the one that `forest` was made of, changed by changes.hpp only.
/// Trees that were lost are not replaced; when nodes are back, build_forest() makes new ones.
ForestUpdate update_forest(const Fabric& fabric, const Forest& forest, const TreeOptions& options);

}  // namespace sumac::topo
