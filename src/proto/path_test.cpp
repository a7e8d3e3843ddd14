#include "proto/path.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "proto/test_nodes.hpp"

namespace sumac::proto {
namespace {

using test::node_ids;
using test::parents;

// The root is 1; 2 and 3 are its children; leaves 4 and 5 are below 2, leaf 6 is below 3.
const auto kTree = parents({{4, 2}, {1, 1}, {5, 2}, {6, 3}, {2, 1}, {3, 1}});

std::string text(const Result<GroupPath>& path) {
  if (!path) return path.error().context;
  std::string line;
  for (const auto& entry : path->view()) line += fmt::format("{}:{} ", entry.node_id, entry.expected_members);
  return line;
}

TEST(Path, counts_members_below_each_node_up_to_where_all_meet) {
  const struct {
    const char* name;
    std::uint32_t rank;
    std::vector<std::uint32_t> leaves;
    const char* path;
  } rows[] = {
      {"a group over the whole tree meets at its root", 0, {4, 5, 6}, "4:1 2:2 1:3 "},
      {"seen from the other side", 2, {4, 5, 6}, "6:1 3:1 1:3 "},
      {"several ranks of a leaf are counted together", 1, {4, 4, 6, 4}, "4:3 2:3 1:4 "},
      {"a group below one inner node never reaches the root", 1, {4, 5}, "5:1 2:2 "},
      {"a group of one leaf stays there", 2, {6, 6, 6}, "6:3 "},
      {"a group of one member", 0, {5}, "5:1 "},
      {"members may sit at inner nodes and at the root", 0, {4, 1, 2}, "4:1 2:2 1:3 "},
      {"and the path of the one at the root is the root", 1, {4, 1, 2}, "1:3 "},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(text(compute_path(row.rank, node_ids(row.leaves), kTree)), row.path);
  }
}

TEST(Path, says_what_is_wrong_with_the_maps) {
  EXPECT_EQ(text(compute_path(2, node_ids({4, 5}), kTree)), "path: rank 2 of a group of 2");
  EXPECT_EQ(text(compute_path(0, node_ids({4, 9}), kTree)), "path: node 9 is not in the tree");
  EXPECT_EQ(text(compute_path(0, node_ids({4}), parents({{4, 2}}))), "path: node 2 is not in the tree");
  EXPECT_EQ(text(compute_path(0, node_ids({4}), parents({{4, 2}, {2, 4}}))), "path: the tree has a loop above node 4");
  EXPECT_EQ(text(compute_path(0, node_ids({1, 2}), parents({{1, 1}, {2, 2}}))),
            "path: the leaves of the group have no node in common");
}

TEST(Path, a_path_of_eight_nodes_is_the_longest) {
  const auto chain = [](std::uint32_t nodes) {
    auto tree = parents({{1, 1}});
    for (std::uint32_t node = 2; node <= nodes; ++node) tree.push_back({NodeId{node}, NodeId{node - 1}});
    return tree;
  };
  EXPECT_EQ(compute_path(0, node_ids({8, 1}), chain(8))->length, 8u);
  EXPECT_EQ(text(compute_path(0, node_ids({9, 1}), chain(9))), "path: more than 8 nodes above leaf 9");
}

}  // namespace
}  // namespace sumac::proto
