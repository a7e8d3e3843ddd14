#pragma once
// Who sits below whom. Each member of a group computes, from maps that all of them have, the nodes between its leaf
// and the lowest node where all members meet (the group's root), and how many members each of those nodes is to wait
// for.
#include <array>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "wire/agg.hpp"

namespace sumac::proto {

/// Nodes from a leaf up to the group's root: what a Join carries.
struct GroupPath {
  std::array<wire::PathEntry, wire::kPathMax> entries{};
  std::uint32_t length = 0;
  std::span<const wire::PathEntry> view() const noexcept { return {entries.data(), length}; }
};

struct NodeParent {
  std::uint32_t node_id = 0;
  std::uint32_t parent_id = 0;  ///< The root of the tree is its own parent.
};

/// `member_leaf[r]`: the leaf node of group rank r. `tree`: every node of the tree with its parent, in any order.
/// invalid: `rank` is no member, a leaf that the tree does not have, a parent that is missing, a loop, or a path of
/// more than kPathMax.
Result<GroupPath> compute_path(std::uint32_t rank, std::span<const std::uint32_t> member_leaf,
                               std::span<const NodeParent> tree);

}  // namespace sumac::proto
