// Bounds are read from fabrics with nodes at switches, on spare hosts, on the hosts themselves, and with rails.
#include "topo/bounds_fabric.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace sumac::topo {
namespace {

constexpr std::uint64_t kRate = 60'000'000;

/// Makes eight hosts at one switch, and `spares` more.
Fabric star(unsigned spares = 0) {
  Fabric fabric;
  fabric.name = "star";
  fabric.switches = {"s1"};
  for (unsigned i = 1; i <= 8 + spares; ++i) {
    Host host;
    host.name = "h" + std::to_string(i);
    host.leaf = "s1";
    host.link = {.delay_ns = 50'000, .rate_bits_per_s = kRate};
    host.compute = i <= 8;
    fabric.hosts.push_back(host);
  }
  return fabric;
}

cost::WaysFabric ways_on_first_eight(const Fabric& fabric) {
  const auto trees = build_trees(fabric, tree_options(fabric));
  EXPECT_TRUE(trees) << trees.error().context;
  std::vector<std::uint32_t> hosts(8);
  std::iota(hosts.begin(), hosts.end(), 0u);
  std::vector<JobTree> jobs;
  for (const auto& tree : *trees) {
    auto job = prune(fabric, tree, hosts);
    EXPECT_TRUE(job) << job.error().context;
    jobs.push_back(*job);
  }
  return ways_fabric(fabric, *trees, jobs);
}

void place_nodes(Fabric& fabric, unsigned first_host, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    Node node;
    node.name = "an" + std::to_string(i + 1);
    node.place.at_host = "h" + std::to_string(first_host + i);
    fabric.nodes.push_back(node);
  }
  fabric.trees = count;
}

void expect_like(const cost::WaysFabric& read, const cost::WaysFabric& formula) {
  EXPECT_EQ(read.hosts, 8u);
  EXPECT_EQ(read.port_rate_bits_per_s, formula.port_rate_bits_per_s);
  EXPECT_NEAR(tree_line(read).per_byte_s, tree_line(formula).per_byte_s, 1e-3 * tree_line(formula).per_byte_s);
  EXPECT_NEAR(tree_line(read).fixed_s, tree_line(formula).fixed_s, 1e-9);
  EXPECT_NEAR(ring_line(read).at(1 << 20), ring_line(formula).at(1 << 20), 1e-9);
}

cost::WaysFabric eight() {
  cost::WaysFabric fabric;
  fabric.hosts = 8;
  fabric.port_rate_bits_per_s = kRate;
  fabric.hop_delay_ns = 100'000;
  return fabric;
}

TEST(BoundsFabric, NodesInSwitches) {
  auto fabric = star();
  Node node;
  node.name = "an";
  node.place.at_switch = "s1";
  fabric.nodes = {node};
  expect_like(ways_on_first_eight(fabric), cost::with_nodes_at_switches(eight()));
}

TEST(BoundsFabric, SpareHosts) {
  for (const unsigned m : {1u, 4u, 8u}) {
    SCOPED_TRACE(m);
    auto fabric = star(m);
    place_nodes(fabric, 9, m);
    const auto ways = ways_on_first_eight(fabric);
    EXPECT_EQ(ways.nodes_on_member_hosts, 0u);
    expect_like(ways, cost::with_spare_hosts(eight(), m));
  }
}

TEST(BoundsFabric, NodesOnTheHostsThemselves) {
  for (const unsigned m : {1u, 8u}) {
    SCOPED_TRACE(m);
    auto fabric = star();
    place_nodes(fabric, 1, m);
    const auto ways = ways_on_first_eight(fabric);
    EXPECT_EQ(ways.nodes_on_member_hosts, m);
    expect_like(ways, cost::with_nodes_on_hosts(eight(), m));
  }
}

TEST(BoundsFabric, ATreeForEachOfTwoRails) {
  auto fabric = star();
  fabric.switches.push_back("s2");
  for (auto& host : fabric.hosts) host.rails.push_back({.leaf = "s2", .link = host.link});
  for (const char* at : {"s1", "s2"}) {
    Node node;
    node.name = std::string("an-") + at;
    node.place.at_switch = at;
    fabric.nodes.push_back(node);
  }
  fabric.trees = 2;
  const auto ways = ways_on_first_eight(fabric);
  EXPECT_EQ(ways.rails, 2u);
  auto formula = eight();
  formula.rails = 2;
  expect_like(ways, cost::with_nodes_at_switches(formula));
}

}  // namespace
}  // namespace sumac::topo
