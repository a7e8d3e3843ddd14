#include "topo/job_numbers.hpp"

#include <gtest/gtest.h>

#include "topo/test_fabric.hpp"

namespace sumac::topo {
namespace {

constexpr std::uint64_t kMbit = 1'000'000;

/// n hosts at one switch, each with a node on it.
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
  EXPECT_EQ(without.delay_ns, 1000u);
  const auto with = numbers_of(fabric, tree, *prune(fabric, tree, member));
  EXPECT_EQ(with.rate_bits_per_s, 20 * kMbit) << "what its own host gives does not leave it";
  EXPECT_EQ(with.member_nodes, 1u);
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
  fabric.links[0].spec.rate_bits_per_s = 40 * kMbit;
  EXPECT_EQ(numbers_of(fabric, tree, *prune(fabric, tree, all)).rate_bits_per_s, 40 * kMbit) << "one stream: the sum";
  const std::vector<std::uint32_t> lone{0, 2};  // each alone at its leaf: attached to the root
  const auto lifted = numbers_of(fabric, tree, *prune(fabric, tree, lone));
  EXPECT_EQ(lifted.delay_ns, 1100u) << "the way is the same";
  EXPECT_EQ(lifted.rate_bits_per_s, 40 * kMbit);
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
