#include "proto/path.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace sumac::proto {
namespace {

using Parents = std::unordered_map<NodeId, NodeId>;

/// Returns the nodes from a leaf up to the tree's root.
Result<std::vector<NodeId>> way_up(NodeId leaf, const Parents& parents) {
  std::vector<NodeId> way;
  for (NodeId node = leaf;;) {
    const auto found = parents.find(node);
    if (found == parents.end()) return fail(Errc::invalid, "path: node {} is not in the tree", node);
    way.push_back(node);
    if (found->second == node) return way;
    if (way.size() > parents.size()) return fail(Errc::invalid, "path: the tree has a loop above node {}", leaf);
    node = found->second;
  }
}

}  // namespace

Result<GroupPath> compute_path(std::uint32_t rank, std::span<const NodeId> member_leaf,
                               std::span<const NodeParent> tree) {
  if (rank >= member_leaf.size())
    return fail(Errc::invalid, "path: rank {} of a group of {}", rank, member_leaf.size());
  Parents parents;
  for (const NodeParent& entry : tree) parents.emplace(entry.node_id, entry.parent_id);

  std::unordered_map<NodeId, std::uint32_t> members_at;  // [leaf]: members at it
  for (const NodeId leaf : member_leaf) ++members_at[leaf];
  std::unordered_map<NodeId, std::uint32_t> members_below;  // [any node]: members below it
  for (const auto& [leaf, members] : members_at) {
    auto way = way_up(leaf, parents);
    if (!way) return tl::unexpected(way.error());
    for (const NodeId node : *way) members_below[node] += members;
  }

  auto mine = way_up(member_leaf[rank], parents);
  if (!mine) return tl::unexpected(mine.error());
  GroupPath path;
  for (const NodeId node : *mine) {
    if (path.length == wire::kPathMax)
      return fail(Errc::invalid, "path: more than {} nodes above leaf {}", wire::kPathMax, member_leaf[rank]);
    path.entries[path.length++] = {node, members_below[node]};
    if (members_below[node] == member_leaf.size()) return path;  // this is the lowest node where all members meet
  }
  return fail(Errc::invalid, "path: the leaves of the group have no node in common");
}

}  // namespace sumac::proto
