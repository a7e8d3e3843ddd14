// A daemon of a tree is gone and the kernels of all nodes go on: small operations go on as well, and the rest waits for another tree. The
// seeded world (sim/recovery_datagrams.cpp) tries the orders.
#include <gtest/gtest.h>

#include "proto/test_datagrams.hpp"
#include "proto/test_recovery.hpp"

namespace sumac::proto {
namespace {

using Values = std::vector<std::uint64_t>;

/// Its small operations go as datagrams.
struct Warm {
  Warm() {
    for (int i = 0; i < 20 && world[0].on_tree().datagram_operations() == 0; ++i) add();
    EXPECT_GT(world[0].on_tree().datagram_operations(), 0u);
  }
  void post(std::size_t words, std::size_t from = 0) {
    for (std::size_t rank = from; rank < 3; ++rank) {
      sums[rank].assign(words, rank + 1);
      EXPECT_TRUE(world[rank].post(test::sum_of(sums[rank]), world.tree.now));
    }
    world.run();
  }
  /// All members have the sum.
  bool take() {
    bool has_all = true;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto over = world[rank].next_completion();
      has_all = has_all && over && over->status == Errc::ok && sums[rank] == Values(sums[rank].size(), 6);
    }
    return has_all;
  }
  void add(std::size_t words = 2) {
    post(words);
    EXPECT_TRUE(take());
  }
  void expect_epoch(recovery::Epoch epoch) {
    for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(world[rank].epoch(), epoch) << rank;
  }
  static constexpr std::size_t kLarge = 40;

  test::LastingGroup world{3, 0, true};
  std::vector<Values> sums{3};
};

TEST(DaemonGone, SmallOperationsGoOnInTheKernel) {
  Warm at;
  at.world.lose_links();
  for (int i = 0; i < 40; ++i) at.add();
  at.expect_epoch(0);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(at.world[rank].has_tree() || at.world[rank].is_calm());
}

TEST(DaemonGone, WhatNeedsALinkWaitsForOneSecond) {
  Warm at;
  at.world.lose_links();
  at.post(Warm::kLarge);
  at.world.pass(900);
  at.expect_epoch(0);
  EXPECT_FALSE(at.take());
  at.world.pass(200);
  at.expect_epoch(1);
  EXPECT_TRUE(at.take());
}

TEST(DaemonGone, WithoutAnotherTreeTheMembersAreTheTreeInTime) {
  Warm at;
  at.world.lose_links();
  for (int i = 0; i < 49; ++i) at.add(), at.world.pass(100);
  at.expect_epoch(0);
  at.world.pass(200);
  at.expect_epoch(1);
  at.add();
}

TEST(DaemonGone, AnOperationThatIsOpenByALinkCannotWait) {
  Warm at;
  at.sums[0].assign(Warm::kLarge, 1);
  ASSERT_TRUE(at.world[0].post(test::sum_of(at.sums[0]), at.world.tree.now));
  at.world.lose_links();
  at.world.run();
  at.expect_epoch(1);
  at.post(Warm::kLarge, 1);
  EXPECT_TRUE(at.take());
}

TEST(DaemonGone, AHostThatIsSilentIsGoneWithItsKernel) {
  Warm at;
  at.world.lose_tree();
  at.world.run();
  at.expect_epoch(1);
}

TEST(DaemonGone, MembersLeaveWithoutTheirTree) {
  Warm at;
  at.world.lose_links();
  at.add();
  for (std::size_t rank = 0; rank < 3; ++rank) at.world[rank].leave(at.world.tree.now);
  at.world.run();
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(at.world[rank].is_over()) << rank;
}

TEST(DaemonGone, AMemberThatGivesUpTellsTheOthers) {
  Warm at;
  at.world.lose_links();
  at.world[1].give_up(at.world.tree.now);
  at.world.run();
  for (const std::size_t rank : {0u, 2u}) {
    ASSERT_TRUE(at.world[rank].verdict());
    EXPECT_EQ(at.world[rank].verdict()->body.culprit, 1u);
  }
}

/// Ranks 0 and 1 at the leaf, rank 2 at the root.
struct TwoLevels : test::DatagramWorld {
  TwoLevels() : DatagramWorld({.has_two_levels = true, .outlives = true}) { make(); }
  void leaf_loses_parent(Millis silence) {
    leaf.node->on_link_closed(leaf.up, tree.now, {"root", "h0", silence});
    tree.run();
  }
  void root_loses_leaf(Millis silence) {
    root.node->on_link_closed(leaf.up, tree.now, {"", "h1", silence});
    tree.run();
  }
  static void expect_left(const test::TestTree::End& node, const test::TestKernel& kernel, std::size_t in_kernel) {
    EXPECT_EQ(kernel.groups(), 0u);
    EXPECT_EQ(kernel.left(), in_kernel);
    EXPECT_EQ(node.node->jobs()[0].osts_free, test::grant().quota.osts);
  }
};

TEST(DaemonGone, TheKernelBelowALostParentGoesOn) {
  TwoLevels at;
  at.leaf_loses_parent(Millis(0));
  TwoLevels::expect_left(at.leaf, *at.at_leaf, 1);
}

TEST(DaemonGone, TheKernelBelowASilentParentDoesNot) {
  TwoLevels at;
  at.leaf_loses_parent(Millis(1000));
  TwoLevels::expect_left(at.leaf, *at.at_leaf, 0);
}

TEST(DaemonGone, TheKernelAboveALostLeafGoesOnAndTheGroupIsOverThere) {
  TwoLevels at;
  at.root_loses_leaf(Millis(0));
  TwoLevels::expect_left(at.root, *at.at_root, 1);
  EXPECT_TRUE(at.root.node->idle());
  EXPECT_EQ(at.root.node->jobs()[0].groups_used, 0u);
  EXPECT_FALSE(at.groups[2]->verdict());
}

TEST(DaemonGone, TheOthersHaveAVerdictWhereTheLeafWasSilent) {
  TwoLevels at;
  at.root_loses_leaf(Millis(1000));
  EXPECT_TRUE(at.groups[2]->verdict());
  EXPECT_EQ(at.at_root->left(), 0u);
}

TEST(DaemonGone, ALeafThatIsToldToStopTakesItsKernelAlong) {
  TwoLevels at;
  at.leaf.node->stop(at.tree.now);
  at.tree.run();
  ASSERT_TRUE(at.groups[2]->verdict());
  EXPECT_EQ(at.groups[2]->why(), "node id-101 was told to stop");
  EXPECT_EQ(at.groups[0]->why(), "node id-101 was told to stop");
  TwoLevels::expect_left(at.leaf, *at.at_leaf, 0);
}

TEST(DaemonGone, ARootThatIsToldToStopTakesItsKernelAlong) {
  TwoLevels at;
  at.root.node->stop(at.tree.now);
  at.tree.run();
  for (const std::size_t rank : {0u, 2u}) EXPECT_EQ(at.groups[rank]->why(), "node id-100 was told to stop");
  EXPECT_EQ(at.at_leaf->left(), 0u);
  EXPECT_EQ(at.at_root->left(), 0u);
}

TEST(DaemonGone, OtherTreesForTheJobEndNoKernelsWork) {
  TwoLevels at;
  for (auto* node : {&at.root, &at.leaf}) {
    node->node->revoke(test::kJob, at.tree.now);
    auto again = test::grant();
    again.quota.osts /= 2;
    EXPECT_TRUE(node->node->grant(again, at.tree.now));
  }
  at.tree.run();
  EXPECT_EQ(at.at_leaf->left(), 1u);
  EXPECT_EQ(at.at_root->left(), 1u);
}

}  // namespace
}  // namespace sumac::proto
