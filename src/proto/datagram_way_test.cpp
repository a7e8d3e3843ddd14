// A group whose small operations go as datagrams, beside its messages by links, with the kernels' machine of src/hop in the nodes.
#include <gtest/gtest.h>

#include "proto/test_datagrams.hpp"

namespace sumac::proto {
namespace {

using namespace test;
using Phase = ClientGroup::Phase;
using Trial = ClientGroup::Trial;
using World = DatagramWorld;

void leave(World& world) {
  for (auto& group : world.groups) group->leave(world.tree.now);
  for (int i = 0; i < 100; ++i) world.pass();
  for (auto& group : world.groups) EXPECT_EQ(group->phase(), Phase::left);
  EXPECT_EQ(world.at_root->groups() + world.at_leaf->groups(), 0u) << "nothing stays in a kernel";
  for (auto* end : {&world.root, &world.leaf}) EXPECT_TRUE(end->drops.empty()) << end->drops.front();
}

TEST(DatagramWay, SmallOperationsGoAroundTheLinks) {
  for (const bool two_levels : {false, true}) {
    World world({.has_two_levels = two_levels});
    world.make();
    for (auto& group : world.groups) ASSERT_EQ(group->trial_of_datagrams(), Trial::passed);
    EXPECT_EQ(world.run(small(500), 1), "");
    // The first number says that all receive them; a window goes by links until everybody knows.
    EXPECT_EQ(world.datagrams(), 500 - world.groups[0]->shape().window());
    EXPECT_LT(world.root.node->stats().messages_in, 100u);
    leave(world);
  }
}

TEST(DatagramWay, BothWaysOfOneGroupAreExact) {
  std::uint64_t datagrams = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    World world(drawn_plan(random, seed));
    world.make();
    for (int i = 0; i < 200; ++i) world.pass();
    ASSERT_EQ(world.run(mixed(random, 120), static_cast<std::uint32_t>(random.between(1, 12))), "");
    datagrams += world.datagrams();
    leave(world);
  }
  EXPECT_GT(datagrams, 1000u);
}

TEST(DatagramWay, OneMemberWithoutItKeepsAllOnTheLinks) {
  World world({.has_two_levels = true});
  world.make(1);
  for (auto& group : world.groups) EXPECT_EQ(group->trial_of_datagrams(), Trial::none);
  EXPECT_EQ(world.run(small(100), 2), "");
  EXPECT_EQ(world.datagrams(), 0u);
  leave(world);
}

TEST(DatagramWay, ANodeWhoseKernelDoesNotBeginKeepsAllOnTheLinks) {
  World world({.has_two_levels = true});
  world.at_leaf->begins = false;
  world.make();
  EXPECT_EQ(world.groups[0]->trial_of_datagrams(), Trial::none);
  for (int i = 0; i < 1000; ++i) world.pass(Millis(10));
  EXPECT_EQ(world.groups[2]->trial_of_datagrams(), Trial::failed) << "nobody answers";
  EXPECT_EQ(world.groups[2]->why_by_link({}), ByLink::no_answer);
  EXPECT_EQ(world.clients[2]->datagrams_failed, 1u);
  EXPECT_EQ(world.run(small(100), 2), "");
  EXPECT_EQ(world.datagrams(), 0u);
  leave(world);
}

TEST(DatagramWay, AGroupSaysWhyAnOperationGoesByTheLinks) {
  const Operation sum{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::uint64, .count = kWords};
  const auto with = [&](auto change) {
    Operation operation = sum;
    change(operation);
    return operation;
  };
  const struct {
    const char* name;
    Operation operation;
    ByLink outlives, ends_with_its_tree;
  } rows[] = {
      {"a barrier", {}, ByLink::none, ByLink::none},
      {"a sum as large as a datagram", sum, ByLink::none, ByLink::none},
      {"a larger one", with([](Operation& o) { ++o.count; }), ByLink::size, ByLink::size},
      {"one that streams", with([](Operation& o) { o.streaming = true; }), ByLink::size, ByLink::size},
      {"a product", with([](Operation& o) { o.op = Op::prod; }), ByLink::operation, ByLink::operation},
      {"an allgather", with([](Operation& o) { o.coll = wire::Coll::allgather, o.op = Op::null; }), ByLink::kind,
       ByLink::kind},
      {"a bcast", with([](Operation& o) { o.coll = wire::Coll::bcast, o.op = Op::null; }), ByLink::none,
       ByLink::returns_early},
      {"a reduce", with([](Operation& o) { o.coll = wire::Coll::reduce; }), ByLink::none, ByLink::returns_early},
  };
  for (const bool outlives : {true, false}) {
    World world({.outlives = outlives});
    world.make();
    for (const auto& row : rows) {
      SCOPED_TRACE(row.name);
      EXPECT_EQ(world.groups[0]->why_by_link(row.operation), outlives ? row.outlives : row.ends_with_its_tree);
    }
  }
  World world({});
  world.make(1);
  EXPECT_EQ(world.groups[0]->why_by_link({}), ByLink::not_offered);
  for (const auto why : {ByLink::not_offered, ByLink::no_answer, ByLink::kind, ByLink::size, ByLink::operation,
                         ByLink::order, ByLink::returns_early})
    EXPECT_GT(std::string(describe(why)).size(), 10u);
}

TEST(DatagramWay, AVerdictNamesTheSameNumberToAll) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world({.has_two_levels = seed % 2 == 0, .seed = seed, .network = {.loss = seed % 3 == 0 ? 0.2 : 0}});
    world.make();
    for (int i = 0; i < 200; ++i) world.pass();
    const std::uint32_t begun = 30 + static_cast<std::uint32_t>(world.kernels.random.below(9));
    ASSERT_EQ(world.run(small(begun), 1), "");
    ASSERT_GT(world.datagrams(), 0u);
    // Some more are under way when rank 2 dies; it has posted fewer of them than the others.
    const auto calls = small(begun + 4);
    std::uint32_t last = begun;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      for (std::uint32_t n = begun; n < begun + (rank == 2 ? world.kernels.random.below(4) : 4); ++n)
        if (world.post(rank, n, calls[n]) && rank == 2) last = n + 1;
    for (std::uint64_t i = world.kernels.random.below(20); i > 0; --i) world.kernels.step(world.clients);
    world.tree.cut(world.clients[2]->up);
    for (int i = 0; i < 300; ++i) world.pass();
    std::uint32_t completed[2] = {begun, begun};
    for (const std::uint32_t rank : {0u, 1u}) {
      ASSERT_TRUE(world.groups[rank]->verdict());
      while (const auto over = world.groups[rank]->next_completion())
        if (over->status == Errc::ok) {
          ASSERT_EQ(world.check(rank, completed[rank], calls[completed[rank]]), "");
          ++completed[rank];
        }
    }
    EXPECT_EQ(completed[0], completed[1]);
    EXPECT_EQ(world.groups[0]->verdict()->first_failed, world.groups[1]->verdict()->first_failed);
    EXPECT_LE(completed[0], last);
    for (const std::uint32_t rank : {0u, 1u}) world.groups[rank]->leave(world.tree.now);
    for (int i = 0; i < 100; ++i) world.pass();
    for (const std::uint32_t rank : {0u, 1u}) EXPECT_EQ(world.groups[rank]->phase(), Phase::left);
    EXPECT_EQ(world.at_root->groups() + world.at_leaf->groups(), 0u);
  }
}

TEST(DatagramWay, MembersThatDifferGetAVerdict) {
  World world({});
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  ASSERT_TRUE(world.post(0, 30, {wire::Coll::allreduce, 0, 1}));
  world.settle();
  ASSERT_TRUE(world.post(1, 30, {wire::Coll::allreduce, 0, 2}));
  world.settle();
  ASSERT_FALSE(world.kernels.differing.empty());
  const auto& [frame, agreed, other] = world.kernels.differing.front();
  world.root.node->on_datagram_differs(static_cast<std::uint16_t>(frame.group), frame, agreed, other, world.tree.now);
  world.settle();
  ASSERT_TRUE(world.groups[2]->verdict());
  EXPECT_EQ(describe(world.groups[2]->verdict()->body), "rank 1 differs from rank 0 in count: 2, not 1");
}

/// Only the result of the other bcast is known at the leaf.
TEST(DatagramWay, SourcesThatDifferGetAVerdict) {
  World world({.has_two_levels = true, .outlives = true});
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  ASSERT_TRUE(world.post(2, 30, {wire::Coll::bcast, 2, 1}));
  world.settle();
  ASSERT_TRUE(world.post(0, 30, {wire::Coll::bcast, 0, 1}));
  world.settle();
  ASSERT_FALSE(world.kernels.differing.empty());
  const auto& [frame, agreed, other] = world.kernels.differing.front();
  world.leaf.node->on_datagram_differs(static_cast<std::uint16_t>(frame.group), frame, agreed, other, world.tree.now);
  world.settle();
  ASSERT_TRUE(world.groups[1]->verdict());
  EXPECT_EQ(describe(world.groups[1]->verdict()->body), "rank 0 differs from rank 2 in root: 0, not 2");
}

TEST(DatagramWay, MembersThatGoDifferentWaysGetAVerdict) {
  for (const bool two_levels : {false, true}) {
    World world({.has_two_levels = two_levels});
    world.make();
    ASSERT_EQ(world.run(small(30), 1), "");
    ASSERT_TRUE(world.post(2, 30, {wire::Coll::allreduce, 0, 1}));
    for (const std::uint32_t rank : {0u, 1u}) ASSERT_TRUE(world.post(rank, 30, {wire::Coll::bcast, 0, 1}));
    world.settle();
    ASSERT_FALSE(world.groups[2]->verdict());
    world.root.node->look_at_datagrams(world.tree.now);
    world.settle();
    ASSERT_TRUE(world.groups[2]->verdict());
    EXPECT_EQ(describe(world.groups[2]->verdict()->body), "rank 2 called allreduce, rank 0 called bcast");
  }
}

TEST(DatagramWay, ALeafThatLeavesDatagramsUnansweredIsLost) {
  World world({});
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  world.tree.take_datagram = nullptr;
  ASSERT_TRUE(world.post(0, 30, {wire::Coll::barrier}));
  for (int i = 0; i < 1500; ++i) world.pass();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::lost);
  EXPECT_EQ(world.groups[0]->why(), "its leaf node has left datagrams unanswered for 1 s");
  EXPECT_TRUE(world.groups[1]->verdict()) << "the others need not wait for it";
}

/// Nodes too look at their clocks.
void pass(World& world) {
  for (auto* node : {&world.root, &world.leaf})
    if (node->node->next_due() <= world.tree.now) node->node->tick(world.tree.now);
  world.pass(Millis(10));
}

TEST(DatagramWay, AParentWhoseDatagramsNeverPassIsNotLost) {
  World world({.has_two_levels = true});
  world.at_root->is_silent = true;
  world.make();
  for (int i = 0; i < 1000; ++i) pass(world);
  for (auto& group : world.groups) EXPECT_EQ(group->trial_of_datagrams(), Trial::failed);
  EXPECT_EQ(world.run(small(100), 2), "");
  EXPECT_EQ(world.datagrams(), 0u);
  leave(world);
}

/// The leaf's kernel answers its members, and its parent's kernel answers nobody.
TEST(DatagramWay, AParentThatLeavesDatagramsUnansweredIsLost) {
  World world({.has_two_levels = true});
  world.make();
  ASSERT_EQ(world.run(small(30), 1), "");
  for (int i = 0; i < 1000; ++i) pass(world);
  ASSERT_EQ(world.groups[0]->phase(), Phase::standing) << "it answers";
  world.at_root->is_silent = true;
  for (const std::uint32_t rank : {0u, 1u}) ASSERT_TRUE(world.post(rank, 30, {wire::Coll::allreduce, 0, 1}));
  int passes = 0;
  for (; passes < 1000 && !world.groups[2]->verdict(); ++passes) pass(world);
  EXPECT_LT(passes, 310);
  for (const std::uint32_t rank : {0u, 1u}) {
    const auto over = world.groups[rank]->next_completion();
    ASSERT_TRUE(over);
    EXPECT_EQ(over->status, Errc::lost);
    EXPECT_NE(world.groups[rank]->why().find("unknown"), std::string::npos) << world.groups[rank]->why();
  }
  EXPECT_EQ(world.at_leaf->groups(), 0u);
}

}  // namespace
}  // namespace sumac::proto
