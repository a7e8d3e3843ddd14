#pragma once
// Each member of a group computes, from maps that all of them have, the nodes between its leaf and the lowest node
// where all members meet (the group's root), and for each of those nodes the number of members that it waits for.
#include <array>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

/// The nodes from a leaf up to the group's root: the content of a Join.
struct GroupPath {
  std::array<wire::PathEntry, wire::kPathMax> entries{};
  std::uint32_t length = 0;
  std::span<const wire::PathEntry> view() const noexcept { return {entries.data(), length}; }
};

struct NodeParent {
  NodeId node_id{};
  NodeId parent_id{};  ///< The root of the tree is its own parent.
};

/// `member_leaf[r]` is the leaf node of group rank r; `tree` has every node of the tree with its parent, in any order.
/// Errc::invalid: `rank` is no member, the tree lacks a leaf or a parent, it has a loop, or the path has more than
/// kPathMax nodes.
Result<GroupPath> compute_path(std::uint32_t rank, std::span<const NodeId> member_leaf,
                               std::span<const NodeParent> tree);

}  // namespace sumac::proto
