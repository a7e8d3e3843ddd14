// Groups whose small operations go as datagrams lose their tree: what one member has behind a bcast that the others never got is
// brought to them. The seeded world (sim/recovery_datagrams.cpp) tries the orders.
#include <gtest/gtest.h>

#include "proto/test_recovery.hpp"

namespace sumac::proto {
namespace {

using Values = std::vector<std::uint64_t>;

Operation bcast_of(Values& values, bool is_root) {
  Operation operation{.coll = wire::Coll::bcast, .op = Op::null, .dtype = Dtype::uint64, .count = values.size()};
  if (is_root) operation.src = std::as_bytes(std::span(values));
  if (!is_root) operation.give = {0, 0}, operation.dst = std::as_writable_bytes(std::span(values));
  if (is_root) operation.keep = {0, 0};
  return operation;
}

/// Rank 0 has completed a bcast whose datagram was lost, and a sum behind it. The others have neither.
struct LostBcast {
  LostBcast() {
    for (int i = 0; i < 20 && world[0].on_tree().datagram_operations() == 0; ++i) {
      for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(world[rank].post({}, world.tree.now));
      world.run();
      for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(take(rank));
    }
    EXPECT_GT(world[0].on_tree().datagram_operations(), 0u);
    EXPECT_TRUE(world[0].post(bcast_of(data[0], true), world.tree.now));
    world.kernels.lose_all();
    for (std::size_t rank = 1; rank < 3; ++rank)
      EXPECT_TRUE(world[rank].post(bcast_of(data[rank], false), world.tree.now));
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_TRUE(world[rank].post(test::sum_of(sums[rank]), world.tree.now));
    world.run();
    EXPECT_TRUE(take(0));
    EXPECT_TRUE(take(0)) << "the source waits for nobody";
    EXPECT_EQ(sums[0], (Values{6, 6}));
    EXPECT_FALSE(world[1].next_completion() || world[2].next_completion());
    data[0] = sums[0] = {99, 99};  // They are the user's again.
  }
  /// The next operation of this member has succeeded.
  bool take(std::size_t rank) {
    const auto over = world[rank].next_completion();
    return over && over->status == Errc::ok;
  }

  test::LastingGroup world{3, 0, true};
  std::vector<Values> data{{5, 7}, {0, 0}, {0, 0}}, sums{{1, 1}, {2, 2}, {3, 3}};
};

TEST(DatagramRecovery, ASumBehindALostBcastReachesTheOthers) {
  LostBcast at;
  at.world.lose_tree();
  at.world.run();
  for (const std::size_t rank : {1u, 2u}) {
    EXPECT_TRUE(at.take(rank) && at.take(rank));
    EXPECT_EQ(at.data[rank], (Values{5, 7}));
    EXPECT_EQ(at.sums[rank], (Values{6, 6}));
  }
}

TEST(DatagramRecovery, ItDoesSoBesideADeath) {
  LostBcast at;
  at.world.lose_tree();
  for (const std::size_t rank : {0u, 1u}) at.world[rank].dead(2, at.world.tree.now);
  at.world.run();
  EXPECT_TRUE(at.take(1) && at.take(1));
  EXPECT_EQ(at.data[1], (Values{5, 7}));
  EXPECT_EQ(at.sums[1], (Values{6, 6}));
  ASSERT_TRUE(at.world[0].verdict() && at.world[1].verdict());
  EXPECT_EQ(at.world[0].verdict()->first_failed, at.world[1].verdict()->first_failed);
}

TEST(DatagramRecovery, BothFailAtAllSurvivorsWhereTheirOnlyHolderDies) {
  LostBcast at;
  at.world.lose_tree();
  for (const std::size_t rank : {1u, 2u}) at.world[rank].dead(0, at.world.tree.now);
  at.world.run();
  for (const std::size_t rank : {1u, 2u})
    for (int i = 0; i < 2; ++i) {
      const auto over = at.world[rank].next_completion();
      ASSERT_TRUE(over);
      EXPECT_EQ(over->status, Errc::verdict);
    }
}

/// A job does not go to another tree before.
TEST(DatagramRecovery, AGroupStandsFirmlyWhenItsKernelsHaveAnsweredOrAreGivenUp) {
  test::LastingGroup answered(3, 0, true);
  EXPECT_TRUE(answered[0].stands_firmly());
  test::LastingGroup silent(3, 0, true, 0, true);
  EXPECT_EQ(silent[0].phase(), recovery::Group::Phase::standing);
  EXPECT_FALSE(silent[0].stands_firmly());
  silent.pass(2000);
  EXPECT_TRUE(silent[0].stands_firmly()) << "it goes by the links";
}

/// The kernels answer no more, and the node lives.
TEST(DatagramRecovery, AWayThatIsSilentIsLeftWithNothingAtTheNode) {
  LostBcast at;
  auto& world = at.world;
  world.tree.take_datagram = nullptr;
  for (std::size_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(world[rank].post({}, world.tree.now));
  world.pass(1100);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(world[rank].epoch(), 1u);
    for (std::size_t left = rank == 0 ? 1 : 3; left > 0; --left) EXPECT_TRUE(at.take(rank));
    world[rank].leave(world.tree.now);
  }
  world.pass(1500);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(world[rank].is_over());
  EXPECT_TRUE(world.node.node->idle());
}

}  // namespace
}  // namespace sumac::proto
