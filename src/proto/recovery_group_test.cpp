// A group that loses its tree: the seeded world (sim/recovery_seed.cpp) tries the orders, these are the simplest ones.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "proto/test_recovery.hpp"

namespace sumac::proto {
namespace {

Operation sum_of(std::vector<std::int64_t>& values) {
  Operation operation{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::int64, .count = values.size()};
  operation.src = std::as_bytes(std::span(values));
  operation.dst = std::as_writable_bytes(std::span(values));
  return operation;
}

TEST(LastingGroup, GoesOnAmongTheMembersWithTheBytesThatItKept) {
  test::LastingGroup world(3);
  std::vector<std::vector<std::int64_t>> values;
  for (std::int64_t rank = 0; rank < 3; ++rank) values.emplace_back(40, rank + 1);  // three numbers, in place
  for (std::size_t rank = 0; rank < 2; ++rank) ASSERT_TRUE(world[rank].post(sum_of(values[rank]), world.tree.now));
  world.tree.run();
  world.lose_tree();
  world.run();
  EXPECT_EQ(world[0].epoch(), 1u);
  EXPECT_FALSE(world[0].next_completion());
  ASSERT_TRUE(world[2].post(sum_of(values[2]), world.tree.now));
  world.run();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto completion = world[rank].next_completion();
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->status, Errc::ok);
    EXPECT_EQ(values[rank], std::vector<std::int64_t>(40, 6));
    world[rank].leave(world.tree.now);
  }
  world.run();
  for (auto& end : world.ends) {
    EXPECT_TRUE(end.group->is_over());
    EXPECT_EQ(end.group->bytes_kept(), 0u);
    EXPECT_TRUE(end.drops.empty());
  }
}

TEST(LastingGroup, NamesTheDeadAndTheFirstNumberThatFails) {
  test::LastingGroup world(3);
  std::vector<std::int64_t> values(2, 1), more(2, 1);
  ASSERT_TRUE(world[0].post(sum_of(values), world.tree.now));
  ASSERT_TRUE(world[1].post(sum_of(more), world.tree.now));
  world.lose_tree();
  world[0].dead(2, world.tree.now);
  world[1].dead(2, world.tree.now);
  world.run();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(world[rank].next_completion()->status, Errc::verdict);
    EXPECT_EQ(world[rank].verdict()->body.culprit, 2u);
    EXPECT_EQ(world[rank].verdict()->first_failed, Sequence{});
    EXPECT_EQ(world[rank].post(sum_of(values), world.tree.now).error(), Errc::verdict);
  }
}

TEST(LastingGroup, AllMembersSayWhatTheTreeHasSaid) {
  for (const std::size_t odd_one : {0u, 1u, 2u}) {
    SCOPED_TRACE(odd_one);
    test::LastingGroup world(3);
    std::vector<std::vector<std::int64_t>> values;
    for (std::size_t rank = 0; rank < 3; ++rank) values.emplace_back(rank == odd_one ? 5 : 4, 1);
    for (std::size_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(world[rank].post(sum_of(values[rank]), world.tree.now));
    world.run();
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(world[rank].next_completion()->status, Errc::verdict);
      EXPECT_NE(world[rank].why().find(" in count: "), std::string::npos) << world[rank].why();
      EXPECT_EQ(world[rank].why(), world[0].why());
    }
  }
}

/// Rank 0 calls a sum and is the source of a bcast, where the others ask for the streaming lock. The bcast completes behind the number at
/// which they differ.
TEST(LastingGroup, AStreamWhoseLockFailsEndsAlthoughALaterNumberCompletes) {
  test::LastingGroup world(3, 2, false, kLockForEver);
  std::vector<std::int64_t> small(2, 1), data(2, 7);
  std::vector<std::vector<std::int64_t>> streams(3, std::vector<std::int64_t>(200, 1));
  Operation bcast{.coll = wire::Coll::bcast, .dtype = Dtype::int64, .count = data.size()};
  bcast.src = std::as_bytes(std::span(data));
  bcast.keep = {0, 0};
  ASSERT_TRUE(world[0].post(sum_of(small), world.tree.now));
  ASSERT_TRUE(world[0].post(bcast, world.tree.now));
  for (const std::size_t rank : {1u, 2u}) {
    Operation stream = sum_of(streams[rank]);
    stream.streaming = true;
    ASSERT_TRUE(world[rank].post(stream, world.tree.now));
  }
  world.run();
  for (const std::size_t rank : {1u, 2u}) {
    ASSERT_TRUE(world[rank].verdict());
    const auto over = world[rank].next_completion();
    ASSERT_TRUE(over);
    EXPECT_EQ(over->status, Errc::verdict);
  }
}

/// The member that gives up is gone before the others have its word from itself: only the tree has it.
TEST(LastingGroup, ADeadRankBesideAMemberIsNamedByAll) {
  for (const bool has_tree : {true, false}) {
    SCOPED_TRACE(has_tree);
    test::LastingGroup world(4);
    std::vector<std::vector<std::int64_t>> values(4, std::vector<std::int64_t>(2, 1));
    for (const std::size_t rank : {0u, 1u, 3u}) ASSERT_TRUE(world[rank].post(sum_of(values[rank]), world.tree.now));
    if (!has_tree) {
      world.lose_tree();
      world.run();
    }
    world[2].give_up(world.tree.now, 7);
    if (has_tree) {
      world.tree.run();
      std::erase_if(world.queue, [](const auto& message) { return message.from == 2; });
      for (const std::size_t rank : {0u, 1u, 3u}) world[rank].dead(2, world.tree.now);
    }
    world.run();
    for (const std::size_t rank : {0u, 1u, 3u}) {
      EXPECT_EQ(world[rank].next_completion()->status, Errc::verdict);
      EXPECT_EQ(world[rank].why(), "rank 7 is dead");
    }
  }
}

TEST(RecoveryMember, KnowsAfterATreeWhatItWouldKnowHadItSeenEveryNumberThere) {
  using namespace recovery;
  constexpr unsigned kWindow = 3;
  constexpr Rank kTreeItself = 3;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Member seen(0, 3, kWindow);
    std::vector<Member::Past> past;
    Number closed = 0;
    for (int step = 0; step < 40; ++step) {
      const auto what = random.below(3);
      if (what == 0 && past.size() < std::min(seen.done(), closed) + kWindow) {
        past.push_back({{static_cast<Kind>(random.below(3)), static_cast<Rank>(random.below(3)), seed}});
        seen.post(past.back().operation);
      } else if (what == 1 && seen.done() < past.size()) {
        past[seen.done()].has_result = true;
        seen.hear(kTreeItself, {0, recovery::Result{seen.done(), closed}});
      } else if (what == 2 && closed < past.size()) {
        seen.hear(kTreeItself, {0, Closed{++closed}});
      }
      Member later(0, 3, kWindow);
      const Number first = closed - std::min<Number>(closed, kWindow);
      later.catch_up(first, closed, {past.begin() + static_cast<std::ptrdiff_t>(first), past.end()});
      std::vector<std::uint64_t> expected, found;
      seen.append_state(expected);
      later.append_state(found);
      ASSERT_EQ(found, expected);
    }
  }
}

/// A chunk is received in the user's memory only where two windows of its stream follow, and nowhere over a part that is still needed.
TEST(LastingGroup, PlacesTheChunksThatStayWithTheUser) {
  test::LastingGroup world(1, 2);
  constexpr std::int64_t kChunk = 512 / sizeof(std::int64_t);
  for (const bool in_place : {false, true}) {
    std::vector<std::int64_t> values(6 * kChunk, 1), results(values.size());
    Operation operation = sum_of(values);
    operation.streaming = true;
    if (!in_place) operation.dst = std::as_writable_bytes(std::span(results));
    ASSERT_TRUE(world[0].post(operation, world.tree.now));
    wire::AggHeader result{.kind = wire::AggKind::result, .tree_id = test::kTree};
    EXPECT_EQ(world[0].on_tree().expect(result).empty(), in_place);
    world.tree.run();
    EXPECT_EQ(world[0].next_completion()->status, Errc::ok);
  }
  std::vector<std::int64_t> values(4 * kChunk, 1), results(values.size());
  Operation operation = sum_of(values);
  operation.streaming = true;
  operation.dst = std::as_writable_bytes(std::span(results));
  ASSERT_TRUE(world[0].post(operation, world.tree.now));
  wire::AggHeader result;
  EXPECT_TRUE(world[0].on_tree().expect(result).empty());
}

}  // namespace
}  // namespace sumac::proto
