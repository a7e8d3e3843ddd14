// Every tree of every fabric must have these properties, checked against independent definitions: distances by a plain
// walk, roots by trying all. A failure names the seed to run again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "topo/sample_fabrics.hpp"
#include "topo/test_tree_check.hpp"
#include "topo/tree.hpp"
#include "topo/validate.hpp"

namespace sumac::topo {
namespace {

std::vector<AggregationTree> built(const Fabric& fabric, const TreeOptions& options) {
  auto trees = build_trees(fabric, options);
  EXPECT_TRUE(trees) << trees.error().context;
  return trees ? std::move(*trees) : std::vector<AggregationTree>{};
}

/// Counts the streams on each link: a working node sends one to its parent, a host one to its leaf.
std::vector<std::uint32_t> streams(const Fabric& fabric, const std::vector<AggregationTree>& trees) {
  std::vector<std::uint32_t> count(fabric.links.size(), 0);
  for (const auto& tree : trees) {
    const auto works = working_nodes(fabric, tree);
    for (std::uint32_t i = 0; i < tree.nodes.size(); ++i)
      if (works[i])
        for (const auto link : tree.nodes[i].route) ++count[link];
    for (std::uint32_t host = 0; host < fabric.hosts.size(); ++host)
      for (const auto link : tree.route_of_host[host]) ++count[link];
  }
  return count;
}

TEST(TreeProperties, random_fabrics) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(fmt::format("random_fabric({})", seed));
    const auto fabric = random_fabric(seed);
    ASSERT_TRUE(validate(fabric)) << validate(fabric).error().context;
    const auto trees = built(fabric, {3, 0});
    ASSERT_EQ(trees.size(), 3U);
    for (const auto& tree : trees) ASSERT_EQ(check_tree(fabric, tree, {.radix = 0, .shortest = true}), "");
    std::set<std::uint32_t> roots;
    for (const auto& tree : trees) roots.insert(tree.root);
    EXPECT_EQ(roots.size(), std::min<std::size_t>(3, fabric.nodes.size())) << "roots differ as long as there are nodes";
    EXPECT_EQ(farthest_host(fabric, trees[0].root), least_farthest_host(fabric)) << "the first root is a centre";
  }
}

TEST(TreeProperties, random_fabrics_with_a_radix) {
  unsigned refused = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(fmt::format("random_fabric({})", seed));
    const auto fabric = random_fabric(seed);
    const auto radix = static_cast<std::uint32_t>(2 + seed % 7);
    const auto trees = build_trees(fabric, {2, radix});
    if (!trees) {
      ++refused;
      EXPECT_EQ(trees.error().code, Errc::exhausted);
      // Every node takes `radix` children and is a child itself, except the root: so at most this many hosts have a
      // slot.
      const auto ranks =
          std::count_if(fabric.hosts.begin(), fabric.hosts.end(), [](const Host& h) { return h.compute; });
      EXPECT_LT(fabric.nodes.size() * (radix - 1) + 1, static_cast<std::size_t>(ranks)) << trees.error().context;
      continue;
    }
    for (const auto& tree : *trees) ASSERT_EQ(check_tree(fabric, tree, {.radix = radix}), "");
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 200U);
}

TEST(TreeProperties, shapes_that_clusters_have) {
  const struct {
    const char* name;
    Fabric fabric;
    std::uint32_t links, levels, children;  ///< The most: links up, nodes on the path, children of one node.
  } rows[] = {
      {"fat tree of two levels (ftree, updn)", leaf_spine(12, 4, 6), 1, 2, 12},
      {"fat tree of three levels (ftree, updn)", fat_tree(6, 4, 4, 8, 5), 2, 3, 6},
      {"hypercube (dor)", hypercube(6, 3), 6, 7, 9},
      {"dragonfly+", dragonfly_plus(5, 4, 4, 3), 3, 4, 9},
      {"two planes", planes(2, 6, 2, 4), 1, 2, 6},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    ASSERT_TRUE(validate(row.fabric));
    const auto trees = built(row.fabric, {4, 0});
    for (const auto& tree : trees) {
      ASSERT_EQ(check_tree(row.fabric, tree, {.radix = 0, .shortest = true}), "");
      EXPECT_LE(tree.depth_links(), row.links);
      EXPECT_LE(tree.levels(), row.levels);
      EXPECT_LE(most_children(row.fabric, tree), row.children);
      for (const auto count : streams(row.fabric, {tree}))
        EXPECT_LE(count, 1U) << "a link carries one stream of a tree";
    }
  }
}

TEST(TreeProperties, several_trees_spread_over_roots_and_links) {
  const auto fabric = leaf_spine(10, 4, 5, 2);
  const auto trees = built(fabric, {4, 0});
  const auto count = streams(fabric, trees);
  EXPECT_EQ(*std::max_element(count.begin(), count.end()), 1U) << "four roots, four spines: no link twice";

  const auto cube = hypercube(5, 2);
  const auto eight = built(cube, {8, 0});
  const auto load = streams(cube, eight);
  std::uint64_t sum = 0;
  for (const auto each : load) sum += each;
  EXPECT_EQ(sum, 8U * 31U);
  EXPECT_LE(*std::max_element(load.begin(), load.end()), 6U) << "on average 3.1 of 80 links";
}

TEST(TreeProperties, trees_take_turns_over_planes_and_ports) {
  const auto fabric = planes(3, 4, 2, 3);
  const auto trees = built(fabric, {6, 0});
  for (std::uint32_t i = 0; i < trees.size(); ++i) {
    for (const auto port : trees[i].port_of_host) EXPECT_EQ(port, i % 3);
    EXPECT_EQ(trees[i].nodes[trees[i].root].name.substr(0, 5), fmt::format("an-p{}", i % 3));
  }

  auto one = leaf_spine(4, 2, 2);  // one plane, with two ports of each host in it
  for (auto& host : one.hosts) host.rails.push_back({"leaf3", {}});
  const auto both = built(one, {2, 0});
  EXPECT_EQ(both[0].port_of_host, std::vector<std::uint32_t>(8, 0));
  EXPECT_EQ(both[1].port_of_host, std::vector<std::uint32_t>(8, 1));
}

TEST(TreeProperties, a_faster_way_and_a_faster_node_are_taken_first) {
  auto fabric = leaf_spine(2, 1, 2);
  auto slow = fabric.links[0];
  slow.spec.rate_bits_per_s /= 10;
  fabric.links.insert(fabric.links.begin(), slow);  // beside the fast one, and before it in the file
  EXPECT_EQ(built(fabric, {1, 0})[0].nodes[1].route, (std::vector<std::uint32_t>{1}));
  fabric.nodes[0].link_rate_bits_per_s = 1'000'000;
  fabric.nodes.push_back({"an-z", {"spine0", ""}, {}});
  const auto tree = built(fabric, {1, 0})[0];
  EXPECT_EQ(tree.nodes[tree.root].name, "an-z");
}

TEST(TreeProperties, a_radix_below_the_shape_costs_a_level_not_more) {
  const auto fabric = leaf_spine(40, 4, 6);
  const auto tree = built(fabric, {1, 12})[0];
  EXPECT_EQ(check_tree(fabric, tree, {.radix = 12}), "");
  EXPECT_EQ(tree.levels(), 3U) << "40 leaves at a root of radix 12";
  EXPECT_LE(tree.depth_links(), 3U);
}

TEST(TreeProperties, the_same_fabric_gives_the_same_trees) {
  for (const std::uint64_t seed : {3U, 77U, 212U}) {
    const auto a = built(random_fabric(seed), {3, 5});
    const auto b = built(random_fabric(seed), {3, 5});
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(same_tree(a[i], b[i]), true);
  }
}

TEST(TreeProperties, ten_thousand_hosts) {
  for (const auto* shape : kLargeShapes) {
    SCOPED_TRACE(shape);
    const auto fabric = large_fabric(shape);
    ASSERT_GE(fabric.hosts.size(), 10'000U);
    ASSERT_LE(fabric.switches.size(), 1'000U);
    ASSERT_TRUE(validate(fabric));
    const auto free = built(fabric, {2, 0});
    for (const auto& tree : free) ASSERT_EQ(check_tree(fabric, tree, {.radix = 0, .shortest = true}), "");
    const auto bound = built(fabric, {1, 40});
    ASSERT_EQ(bound.size(), 1U);
    EXPECT_EQ(check_tree(fabric, bound[0], {.radix = 40}), "");
    EXPECT_LE(bound[0].levels(), free[0].levels() + 2);
    EXPECT_LE(bound[0].depth_links(), 3 * std::max(free[0].depth_links(), 1U) + 2);
  }
}

}  // namespace
}  // namespace sumac::topo
