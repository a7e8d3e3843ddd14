// A result by multicast is the link's copy taken early, and nothing else: whether datagrams come, are lost, come twice,
// late or out of order, the same operations complete with the same bytes, and the node sees the same messages as
// without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "proto/test_multicast.hpp"

namespace sumac::proto {
namespace {

using test::MulticastGroup;
using testing::IsEmpty;
using wire::Coll;
using Heard = ClientGroup::Heard;

TEST(Multicast, completes_an_operation_before_the_link_does) {
  MulticastGroup world(3);
  world.post_all(1);
  world.run_upwards();
  ASSERT_EQ(world.node.datagrams.size(), 1u);
  EXPECT_FALSE(world.groups[1]->next_completion());
  EXPECT_EQ(world.hear(1, world.node.datagrams[0]), Heard::taken);
  const auto early = world.groups[1]->next_completion();
  ASSERT_TRUE(early);
  EXPECT_EQ(early->status, Errc::ok);
  EXPECT_EQ(*world.values[1][0], 0 + 1 + 2 + 3);
  EXPECT_FALSE(world.groups[0]->next_completion()) << "which did not hear it";
  world.tree.run();
  EXPECT_TRUE(world.groups[0]->next_completion());
  EXPECT_FALSE(world.groups[1]->next_completion()) << "the link's copy completes nothing again";
  EXPECT_EQ(*world.values[1][0], 6);
}

TEST(Multicast, a_copy_that_comes_too_late_twice_or_of_something_else_changes_nothing) {
  MulticastGroup world(2);
  world.post_all(1);
  world.run_upwards();
  const auto datagram = world.node.datagrams.at(0);
  const auto changed = [&](auto change) {
    auto header = datagram.header;
    change(header);
    return world.hear(0, header, datagram.data);
  };
  EXPECT_EQ(changed([](auto& h) { h.group_id = GroupId{number_of(h.group_id) + 0x10000}; }), Heard::discarded)
      << "of a former group of the same number";
  EXPECT_EQ(changed([](auto& h) { h.tree_id = TreeId{8}; }), Heard::discarded);
  EXPECT_EQ(changed([](auto& h) { h.sequence = seq_next(h.sequence); }), Heard::discarded)
      << "of a number that was not sent";
  EXPECT_EQ(changed([](auto& h) { h.sequence = seq_previous(h.sequence); }), Heard::late);
  EXPECT_EQ(changed([](auto& h) { h.op = Op::max; }), Heard::discarded);
  EXPECT_EQ(changed([](auto& h) { h.count = 2; }), Heard::discarded);
  EXPECT_EQ(changed([](auto& h) { h.payload_bytes = 0; }), Heard::discarded);
  EXPECT_FALSE(world.groups[0]->next_completion());
  EXPECT_EQ(changed([](auto&) {}), Heard::taken);
  EXPECT_EQ(world.hear(0, datagram), Heard::late);
  world.tree.run();
  EXPECT_EQ(world.hear(0, datagram), Heard::late);
  EXPECT_EQ(world.hear(1, datagram), Heard::late);
  EXPECT_TRUE(world.groups[0]->next_completion());
  EXPECT_FALSE(world.groups[0]->next_completion());
}

// Recovery rule 1: an early result waits in a stash, never in the user's buffer.
TEST(Multicast, a_result_before_its_turn_waits) {
  MulticastGroup world(2);
  world.post_all(1);
  world.post_all(2);
  world.run_upwards();
  ASSERT_EQ(world.node.datagrams.size(), 2u);
  EXPECT_EQ(world.hear(0, world.node.datagrams[1]), Heard::taken);
  EXPECT_FALSE(world.groups[0]->next_completion());
  EXPECT_EQ(*world.values[0][1], 2);
  EXPECT_EQ(world.hear(0, world.node.datagrams[0]), Heard::taken);
  EXPECT_EQ(world.groups[0]->next_completion()->token, 1u);
  EXPECT_EQ(world.groups[0]->next_completion()->token, 2u);
  EXPECT_EQ(*world.values[0][1], 2 + 3);
  world.tree.run();
}

// The window counts the link's copies: the node counts only what it sent on our link.
TEST(Multicast, nobody_gets_ahead_of_the_window_by_it) {
  MulticastGroup world(2);
  ASSERT_EQ(world.groups[0]->shape().osts, 2u);
  for (std::uint64_t token = 1; token <= 3; ++token) world.post_all(token);
  world.run_upwards();
  ASSERT_EQ(world.node.datagrams.size(), 2u);
  for (const auto& datagram : world.node.datagrams) EXPECT_EQ(world.hear(0, datagram), Heard::taken);
  EXPECT_EQ(world.groups[0]->in_flight(), 2u);
  EXPECT_EQ(world.clients[0]->sent.size(), 2u) << "the third waits for the link's copy of the first";
  world.tree.run();
  EXPECT_EQ(world.clients[0]->sent.size(), 3u);
  EXPECT_THAT(world.node.drops, IsEmpty());
}

TEST(Multicast, leave_waits_for_the_links_copies) {
  MulticastGroup world(2);
  world.post_all(1);
  world.run_upwards();
  EXPECT_EQ(world.hear(0, world.node.datagrams.at(0)), Heard::taken);
  EXPECT_TRUE(world.groups[0]->next_completion());
  world.groups[0]->leave(world.tree.now);
  EXPECT_EQ(world.clients[0]->sent.back().coll, Coll::allreduce);
  world.tree.run();
  EXPECT_EQ(world.clients[0]->sent.back().coll, Coll::leave);
  world.groups[1]->leave(world.tree.now);
  world.tree.run();
  for (const auto& group : world.groups) EXPECT_EQ(group->phase(), ClientGroup::Phase::left);
}

// A verdict takes effect when everything before its number is complete, by multicast or by link.
TEST(Multicast, a_verdict_does_not_undo_what_came_early) {
  MulticastGroup world(2);
  world.post_all(1);
  ASSERT_TRUE(world.post(0, 2, 5));
  Operation barrier;
  ASSERT_TRUE(world.groups[1]->post(barrier, world.tree.now));
  world.run_upwards();
  EXPECT_EQ(world.hear(0, world.node.datagrams.at(0)), Heard::taken);
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
  world.tree.run();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::verdict);
  EXPECT_EQ(world.groups[1]->next_completion()->status, Errc::ok);
  EXPECT_EQ(world.groups[1]->next_completion()->status, Errc::verdict);
  EXPECT_EQ(world.groups[0]->verdict()->first_failed, world.groups[1]->verdict()->first_failed);
}

// Any subset of the datagrams, in any order with the links' copies, gives the same sums in the same order.
TEST(Multicast, seeds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(2 + random.below(4));
    MulticastGroup world(size);
    constexpr std::uint64_t kOperations = 30;
    std::vector<std::uint64_t> posted(size), completed(size);
    while (*std::ranges::min_element(completed) < kOperations) {
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (posted[rank] < kOperations && random.chance(0.5)) {
          ASSERT_TRUE(world.post(rank, posted[rank], static_cast<std::int64_t>(posted[rank] * 10 + rank)));
          ++posted[rank];
        }
        // Any datagram so far may come: lost ones are never chosen, others come late, twice or out of order.
        for (int i = 0; i < 3 && !world.node.datagrams.empty(); ++i)
          if (random.chance(0.5)) world.hear(rank, world.node.datagrams[random.below(world.node.datagrams.size())]);
        while (const auto completion = world.groups[rank]->next_completion()) {
          ASSERT_EQ(completion->status, Errc::ok);
          ASSERT_EQ(completion->token, completed[rank]);
          const auto sum = completed[rank] * 10 * size + size * (size - 1) / 2;
          ASSERT_EQ(*world.values[rank][completed[rank]], static_cast<std::int64_t>(sum));
          ++completed[rank];
        }
      }
      world.tree.step([&](std::size_t n) { return random.below(n); });
    }
    for (auto& group : world.groups) group->leave(world.tree.now);
    world.tree.run();
    for (auto& group : world.groups) ASSERT_EQ(group->phase(), ClientGroup::Phase::left);
    ASSERT_THAT(world.node.drops, IsEmpty());
    ASSERT_TRUE(world.node.node->idle());
  }
}

}  // namespace
}  // namespace sumac::proto
