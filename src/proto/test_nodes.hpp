#pragma once
// Nodes of a tree written as bare numbers, for the tables of tests.
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "proto/path.hpp"

namespace sumac::proto::test {

/// Returns a tree of these pairs of a node and its parent.
inline std::vector<NodeParent> parents(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> pairs) {
  std::vector<NodeParent> tree;
  for (const auto& [node, parent] : pairs) tree.push_back({NodeId{node}, NodeId{parent}});
  return tree;
}

inline std::vector<NodeId> node_ids(const std::vector<std::uint32_t>& numbers) {
  std::vector<NodeId> ids;
  for (const auto number : numbers) ids.push_back(NodeId{number});
  return ids;
}

}  // namespace sumac::proto::test
