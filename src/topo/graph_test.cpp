#include "topo/graph.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

TEST(Graph, distances_count_links) {
  const auto fabric = two_leaves();
  const Graph graph{fabric};
  const auto at = [&](const char* name) { return *graph.find(name); };
  const struct {
    const char* from;
    const char* to;
    std::uint32_t links;
  } rows[] = {
      {"h1", "h1", 0}, {"h1", "leaf1", 1}, {"h1", "h2", 2}, {"h1", "h3", 4}, {"root", "h3", 2}, {"leaf1", "leaf2", 2},
  };
  for (const auto& row : rows)
    EXPECT_EQ(graph.distance(at(row.from), at(row.to)), row.links) << row.from << " " << row.to;
}

TEST(Graph, a_route_names_links_and_directions_in_order) {
  const auto fabric = two_leaves();
  const Graph graph{fabric};
  const auto route = graph.route(*graph.find("h1"), *graph.find("h3"));
  // The edges are: 0 leaf1-root, 1 leaf2-root, 2 h1, 3 h2, 4 h3.
  EXPECT_EQ(route, (std::vector<Hop>{{2, true}, {0, true}, {1, false}, {4, false}}));
  EXPECT_EQ(graph.ports()[0].edge, 2U);
  EXPECT_EQ(graph.ports()[0].leaf, *graph.find("leaf1"));
  EXPECT_TRUE(graph.route(0, 0).empty());
}

TEST(Graph, a_host_with_ports_in_two_planes_joins_them_for_nobody_else) {
  auto fabric = two_leaves();
  fabric.switches.emplace_back("other");
  fabric.hosts[0].rails = {{"other", {}, 0, 0, ""}};
  fabric.hosts[1].rails = {{"other", {}, 0, 0, ""}};
  const Graph graph{fabric};
  // The edges are: 0 leaf1-root, 1 leaf2-root, 2 h1-leaf1, 3 h1-other, 4 h2-leaf1, 5 h2-other, 6 h3-leaf2.
  ASSERT_EQ(graph.ports().size(), 5U);
  EXPECT_EQ(graph.edge_count(), 7U);
  EXPECT_EQ(graph.ports()[3].host, 1U);
  EXPECT_EQ(graph.ports()[3].rail, 1U);
  EXPECT_EQ(graph.ports()[3].edge, 5U);
  EXPECT_EQ(graph.ports()[3].leaf, *graph.find("other"));
  EXPECT_EQ(graph.ports()[4].edge, 6U);
  EXPECT_EQ(graph.ports()[4].leaf, *graph.find("leaf2"));
  EXPECT_EQ(graph.distance(*graph.find("root"), *graph.find("other")), kUnreachable);
  EXPECT_TRUE(graph.route(*graph.find("root"), *graph.find("other")).empty());
  EXPECT_EQ(graph.distance(*graph.find("h1"), *graph.find("other")), 1U);
  EXPECT_EQ(graph.distance(*graph.find("h3"), *graph.find("other")), kUnreachable) << "not through h1";
}

TEST(Graph, an_unknown_name_is_not_found) {
  const auto fabric = two_leaves();
  EXPECT_FALSE(Graph{fabric}.find("nobody"));
}

}  // namespace
}  // namespace sumac::topo
