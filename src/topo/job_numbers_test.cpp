#include "topo/job_numbers.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

constexpr std::uint64_t kMbit = 1'000'000;

/// Makes n hosts at one switch, each with a node on it.
Fabric nodes_on_hosts(std::uint32_t n) {
  Fabric fabric;
  fabric.name = "on-hosts";
  fabric.switches = {"s"};
  for (std::uint32_t i = 0; i < n; ++i) {
    fabric.hosts.push_back(host("h" + std::to_string(i), "s"));
    fabric.hosts.back().link.rate_bits_per_s = 60 * kMbit;
    fabric.hosts.back().link.delay_ns = 1000;
    fabric.nodes.push_back({"an" + std::to_string(i), {"", "h" + std::to_string(i)}, {}});
  }
  return fabric;
}

TEST(JobNumbers, a_node_on_a_host_has_one_link_for_all_its_children) {
  const auto fabric = nodes_on_hosts(4);
  const auto tree = *build_tree(fabric);
  const std::vector<std::uint32_t> spare{1, 2, 3}, member{0, 1, 2, 3};
  const auto without = numbers_of(fabric, tree, *prune(fabric, tree, spare));
  EXPECT_EQ(without.rate_bits_per_s, 20 * kMbit) << "three hosts share it";
  EXPECT_EQ(without.member_nodes, 0u);
  EXPECT_EQ(without.delay_ns, 2000u) << "the link of the host, and that of the node's host";
  const auto with = numbers_of(fabric, tree, *prune(fabric, tree, member));
  EXPECT_EQ(with.rate_bits_per_s, 20 * kMbit) << "what its own host gives does not leave it";
  EXPECT_EQ(with.member_nodes, 1u);
  EXPECT_EQ(with.delay_ns, 2000u);
}

TEST(JobNumbers, what_two_nodes_of_one_host_say_to_each_other_does_not_leave_it) {
  auto fabric = nodes_on_hosts(5);
  fabric.nodes.resize(2);
  fabric.nodes[1].place.at_host = "h0";
  fabric.roots = {"an0"};
  auto tree = *build_tree(fabric);
  // Node an1 has h1 and h2, and is below an0; an0 also has h3 and h4.
  tree.nodes[0].children = {1};
  tree.nodes[1].parent = 0;
  tree.leaf_of_host = {0, 1, 1, 0, 0};
  const std::vector<std::uint32_t> spare{1, 2, 3, 4};
  const auto numbers = numbers_of(fabric, tree, *prune(fabric, tree, spare));
  EXPECT_EQ(numbers.rate_bits_per_s, 30 * kMbit) << "two hosts each, and nothing between the nodes";
  EXPECT_EQ(numbers.delay_ns, 2000u);
}

TEST(JobNumbers, a_tree_at_switches_is_bound_by_the_links_between_them_alone) {
  auto fabric = two_leaves();
  fabric.hosts.push_back(host("h4", "leaf2"));
  for (auto& each : fabric.hosts) each.link = {.delay_ns = 100, .rate_bits_per_s = 10 * kMbit};
  for (auto& link : fabric.links) link.spec.delay_ns = 1000;
  const auto tree = *build_tree(fabric);
  const std::vector<std::uint32_t> all{0, 1, 2, 3};
  const auto free = numbers_of(fabric, tree, *prune(fabric, tree, all));
  EXPECT_EQ(free.rate_bits_per_s, 0u);
  EXPECT_EQ(free.delay_ns, 1100u) << "one of the host, one of its leaf to the root";
  fabric.links[0].spec.rate_bits_per_s = 10 * kMbit;
  EXPECT_EQ(numbers_of(fabric, tree, *prune(fabric, tree, all)).rate_bits_per_s, 0u) << "what a port gives it passes";
  fabric.links[0].spec.rate_bits_per_s = 4 * kMbit;
  EXPECT_EQ(numbers_of(fabric, tree, *prune(fabric, tree, all)).rate_bits_per_s, 4 * kMbit) << "one stream: the sum";
  const std::vector<std::uint32_t> lone{0, 2};  // each is alone at its leaf, so it is attached to the root
  const auto lifted = numbers_of(fabric, tree, *prune(fabric, tree, lone));
  EXPECT_EQ(lifted.delay_ns, 1100u) << "the way is the same";
  EXPECT_EQ(lifted.rate_bits_per_s, 4 * kMbit);
}

TEST(JobNumbers, rails_that_differ_have_trees_that_differ) {
  auto fabric = two_leaves();
  fabric.switches.emplace_back("other");
  fabric.nodes.push_back({"an-other", {"other", ""}, {}});
  for (auto& each : fabric.hosts) {
    each.link = {.delay_ns = 100, .rate_bits_per_s = 40 * kMbit};
    each.rails = {{"other", {.delay_ns = 100, .rate_bits_per_s = 120 * kMbit}}};
  }
  fabric.roots = {fabric.nodes.front().name, "an-other"};
  fabric.trees = 2;
  const auto trees = build_trees(fabric, tree_options(fabric));
  ASSERT_TRUE(trees) << trees.error().context;
  const std::vector<std::uint32_t> both{0, 1};
  std::vector<std::uint64_t> rates;
  for (const auto& tree : *trees) rates.push_back(numbers_of(fabric, tree, *prune(fabric, tree, both)).rate_bits_per_s);
  EXPECT_EQ(rates, (std::vector<std::uint64_t>{0, 120 * kMbit})) << "0: the hosts' slowest ports";
}

TEST(JobNumbers, hosts_are_as_fast_as_their_slowest_port) {
  auto fabric = nodes_on_hosts(2);
  const std::vector<std::uint32_t> both{0, 1};
  EXPECT_EQ(numbers_of(fabric, both).rate_bits_per_s, 60 * kMbit);
  EXPECT_EQ(numbers_of(fabric, both).rails, 1u);
  for (auto& each : fabric.hosts) each.rails.push_back({"s", {.rate_bits_per_s = 40 * kMbit}});
  fabric.hosts[1].rails.push_back({"s", {}});
  EXPECT_EQ(numbers_of(fabric, both).rate_bits_per_s, 40 * kMbit);
  EXPECT_EQ(numbers_of(fabric, both).rails, 2u) << "of the host that has fewest";
}

}  // namespace
}  // namespace sumac::topo
