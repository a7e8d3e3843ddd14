// The bound of each method is compared with its well-known closed form.
#include "cost/bounds.hpp"

#include <gtest/gtest.h>

namespace sumac::cost {
namespace {

constexpr std::uint64_t k16MiB = std::uint64_t{16} << 20;
constexpr double kM = 16.0 * 1024 * 1024 * 8;  // 16 MiB in bits

WaysFabric hosts(std::uint32_t n, std::uint64_t rate, std::uint32_t rails = 1, std::uint64_t hop_ns = 0) {
  WaysFabric fabric;
  fabric.hosts = n;
  fabric.port_rate_bits_per_s = rate;
  fabric.rails = rails;
  fabric.hop_delay_ns = hop_ns;
  return fabric;
}

TEST(Bounds, ASmallOperationWakesTheNodesOnItsWayUnlessTheirKernelsAnswer) {
  auto fabric = hosts(16, 1'000'000'000);
  fabric.trees = {{.delay_ns = 1'000'000, .levels = 2}};
  EXPECT_DOUBLE_EQ(small_seconds(fabric, Nodes::asleep), 2e-3 + 3 * 70e-6) << "leaf, root, leaf";
  EXPECT_DOUBLE_EQ(small_seconds(fabric, Nodes::awake), 2e-3 + 3 * 10e-6);
  EXPECT_DOUBLE_EQ(small_seconds(fabric, Nodes::kernels), 2e-3 + 4e-6);
  fabric.trees.push_back({.delay_ns = 50'000});
  EXPECT_DOUBLE_EQ(small_seconds(fabric, Nodes::awake), 2e-3 + 3 * 10e-6) << "the longest tree counts";
  fabric.trees.erase(fabric.trees.begin());
  EXPECT_DOUBLE_EQ(small_seconds(fabric, Nodes::asleep), 100e-6 + 70e-6);
  EXPECT_EQ(small_seconds(hosts(4, 0), Nodes::asleep), 0) << "no tree";
  EXPECT_EQ(through_nodes(3, 8, true).wakes, 0);
  EXPECT_EQ(through_nodes(3, 8, false).wakes, 5);
}

TEST(Bounds, OfEachWayAreTheClosedForms) {
  const std::uint64_t rate = 60'000'000;
  const struct {
    const char* name;
    WaysFabric fabric;
    double expected_s;  ///< Seconds for 16 MiB through the trees.
  } rows[] = {
      {"nodes at switches: M / rate", with_nodes_at_switches(hosts(8, rate)), kM / 6e7},
      {"a tree for each of two rails: M / (2 rate)", with_nodes_at_switches(hosts(8, rate, 2)), kM / 12e7},
      {"one spare host takes n M / rate", with_spare_hosts(hosts(8, rate), 1), 8 * kM / 6e7},
      {"four: n M / (4 rate)", with_spare_hosts(hosts(8, rate), 4), 2 * kM / 6e7},
      {"as many spare hosts as hosts: M / rate", with_spare_hosts(hosts(8, rate), 8), kM / 6e7},
      {"more of them help nothing: the hosts' own ports are full", with_spare_hosts(hosts(8, rate), 16), kM / 6e7},
      {"a node on one of the hosts: n - 1 vectors pass its link", with_nodes_on_hosts(hosts(8, rate), 1), 7 * kM / 6e7},
      {"nodes on four of eight: (n + m - 2) / m", with_nodes_on_hosts(hosts(8, rate), 4), 10.0 / 4 * kM / 6e7},
      {"nodes on all hosts: as a ring", with_nodes_on_hosts(hosts(8, rate), 8), 14.0 / 8 * kM / 6e7},
      {"two hosts, nodes on both", with_nodes_on_hosts(hosts(2, rate), 2), kM / 6e7},
      {"no tree binds nothing", hosts(8, rate), 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_NEAR(tree_line(row.fabric).at(k16MiB), row.expected_s, row.expected_s * 1e-6);
  }
  EXPECT_NEAR(ring_line(hosts(8, rate)).at(k16MiB), 14.0 / 8 * kM / 6e7, 1e-6);
  EXPECT_NEAR(ring_line(hosts(8, rate, 2)).at(k16MiB), 14.0 / 8 * kM / 12e7, 1e-6);
  EXPECT_NEAR(doubling_line(hosts(8, rate)).at(k16MiB), 3 * kM / 6e7, 1e-6);
}

TEST(Bounds, EachKindIsHeldAgainstWhatHostsDoBestByThemselves) {
  // The 16 hosts have 80 Mbit/s, 10 MB/s, and a hop of 1 ms. One spare host takes 16 vectors in 1.6 us a byte, and 2 ms
  // of delay.
  const auto spare = with_spare_hosts(hosts(16, 80'000'000, 1, 1'000'000), 1);
  const struct {
    const char* name;
    coll::Kind kind;
    double bytes;  ///< The size at which the hosts' best method is as fast.
  } rows[] = {
      {"bcast: the root sends 15 vectors in one step", coll::Kind::bcast, 0},
      {"reduce: the same backwards", coll::Kind::reduce, 0},
      {"allgather: recursive doubling has 4 steps and 15/16 of all blocks", coll::Kind::allgather, 2e-3 / 1.50625e-6},
      {"allgatherv: the same", coll::Kind::allgatherv, 2e-3 / 1.50625e-6},
      {"reduce_scatter_block: recursive halving, the same", coll::Kind::reduce_scatter_block, 2e-3 / 1.50625e-6},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_NEAR(static_cast<double>(tree_bytes_max(spare, row.kind)), row.bytes, 1);
  }
  EXPECT_EQ(tree_bytes_max(spare, coll::Kind::barrier), kNoLimit) << "it has no bytes";

  auto slow = hosts(16, 80'000'000, 1, 1'000'000);
  slow.trees = {{40'000'000, 500'000, 0}};
  EXPECT_NEAR(static_cast<double>(tree_bytes_max(slow, coll::Kind::bcast)), 14e-3 / 1e-7, 1)
      << "a chain has 15 steps of 1 ms and one vector, the tree 1 ms and two";

  const auto switches = with_nodes_at_switches(hosts(16, 80'000'000, 1, 1'000'000));
  EXPECT_EQ(tree_bytes_max(switches, coll::Kind::bcast), kNoLimit)
      << "a chain has the bytes of the tree, and more delay";
  EXPECT_EQ(tree_bytes_max(switches, coll::Kind::reduce), kNoLimit);
  EXPECT_NEAR(static_cast<double>(tree_bytes_max(switches, coll::Kind::allgather)), 3e-3 / (1e-7 / 16), 1)
      << "hosts don't send themselves their own block";
}

TEST(Bounds, DelayGoesUpAndDownTheTreeOnceAndThroughTheHostsInRounds) {
  const auto fabric = with_nodes_at_switches(hosts(16, 0, 1, 1'000'000));
  EXPECT_NEAR(tree_line(fabric).fixed_s, 1e-3, 1e-9) << "half a hop up, half a hop down";
  EXPECT_NEAR(doubling_line(fabric).fixed_s, 4e-3, 1e-9);
  EXPECT_NEAR(halving_line(fabric).fixed_s, 8e-3, 1e-9);
  EXPECT_NEAR(ring_line(fabric).fixed_s, 30e-3, 1e-9);
  EXPECT_NEAR(linear_line(fabric).fixed_s, 2e-3, 1e-9) << "there and back";
  EXPECT_NEAR(linear_line(hosts(8, 60'000'000)).at(k16MiB), 14 * kM / 6e7, 1e-6);
  EXPECT_EQ(linear_line(hosts(1, 60'000'000, 1, 1'000)).at(k16MiB), 0);
  for (const auto& [n, rounds] : {std::pair{1u, 0}, {2u, 1}, {3u, 2}, {4u, 2}, {5u, 3}, {64u, 6}, {65u, 7}})
    EXPECT_NEAR(doubling_line(hosts(n, 0, 1, 1'000)).fixed_s, rounds * 1e-6, 1e-12) << n;
}

TEST(Bounds, TreesOfDifferentRatesTakeStripesThatEndTogether) {
  auto fabric = hosts(8, 1'000'000'000);
  fabric.trees = {{40'000'000, 0, 0}, {120'000'000, 0, 0}};
  EXPECT_NEAR(tree_line(fabric).at(k16MiB), kM / 160e6, 1e-6);
}

TEST(Bounds, ANodeWithAPartInEveryTreeCarriesThemAll) {
  auto fabric = with_nodes_on_hosts(hosts(8, 60'000'000), 2);
  const double apart = tree_line(fabric).per_byte_s;
  fabric.nodes_on_member_hosts = 1;  // both trees have the same node
  EXPECT_GT(tree_line(fabric).per_byte_s, 1.5 * apart);
}

TEST(Bounds, WhereATreeLosesTheCrossoverSaysFromWhereOn) {
  const std::uint64_t rate = 60'000'000, hop = 100'000;
  EXPECT_EQ(tree_bytes_max(with_nodes_at_switches(hosts(8, rate, 1, hop))), kNoLimit);
  EXPECT_EQ(tree_bytes_max(with_spare_hosts(hosts(8, rate, 1, hop), 8)), kNoLimit);
  EXPECT_EQ(tree_bytes_max(with_nodes_on_hosts(hosts(8, rate, 1, hop), 8)), kNoLimit) << "as good as a ring is no loss";
  EXPECT_EQ(tree_bytes_max(with_nodes_on_hosts(hosts(2, rate, 1, hop), 1)), kNoLimit)
      << "one child: no more than a ring";

  // With one spare host, 8 M / rate + 2 hops are compared with 3 M / rate + 3 hops, and with 1.75 M / rate + 6 hops.
  const auto one = with_spare_hosts(hosts(8, rate, 1, hop), 1);
  const double per_bit = 1 / 6e7;
  const double expected = std::min(1 * 1e-4 / (5 * 8 * per_bit), 4 * 1e-4 / (6.25 * 8 * per_bit));
  EXPECT_NEAR(static_cast<double>(tree_bytes_max(one)), expected, 1);
  const auto most = static_cast<std::uint64_t>(tree_bytes_max(one));
  const auto own = [&](std::uint64_t bytes) {
    return std::min(halving_line(one).at(bytes), doubling_line(one).at(bytes));
  };
  EXPECT_LE(tree_line(one).at(most), own(most));
  EXPECT_GT(tree_line(one).at(most + 2), own(most + 2));
}

TEST(Bounds, WhatIsNotKnownIsNotDecided) {
  EXPECT_EQ(tree_bytes_max(with_spare_hosts(hosts(8, 0), 1)), kNoLimit);
  EXPECT_EQ(tree_bytes_max(hosts(8, 1'000)), kNoLimit);
  EXPECT_EQ(tree_bytes_max(with_spare_hosts(hosts(1, 1'000), 1)), kNoLimit) << "nobody to send to";
}

TEST(Bounds, AreSaidWithTheNumbers) {
  EXPECT_EQ(explain(with_spare_hosts(hosts(8, 60'000'000), 1)),
            "16 MiB: tree 17895.7 ms, ring of 8 hosts 3914.7 ms; beyond 0 B the hosts' own algorithms are faster, "
            "recursive halving first");
  EXPECT_EQ(explain(with_nodes_at_switches(hosts(8, 40'000'000, 2))),
            "16 MiB: 2 trees 1677.7 ms, ring of 8 hosts 2936.0 ms; the tree does not lose at any size");
  EXPECT_EQ(explain(with_nodes_at_switches(hosts(8, 0))),
            "the rate of the hosts' ports is not known: tree and hosts are not compared");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(12 * 1024), "12 KiB");
  EXPECT_EQ(bytes_text(k16MiB), "16 MiB");
}

}  // namespace
}  // namespace sumac::cost
