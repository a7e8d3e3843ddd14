// A result by multicast is the link's copy taken early, and nothing else: whatever of it comes, is lost, comes twice, late or out of
// order, the same operations complete with the same bytes, and the node sees nothing it would not see without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"
#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::StandingGroup;
using test::TestTree;
using testing::IsEmpty;
using wire::Coll;
using Heard = ClientGroup::Heard;

struct World : StandingGroup {
  /// 2 OSTs each.
  explicit World(std::uint32_t size, bool multicast = true)
      : StandingGroup(size, {}, test::grant(8, 4),
                      {.invitation = multicast ? std::optional(test::kInvitation) : std::nullopt}) {
    for (auto& group : groups)
      if (multicast) group->listen(true);
    values.resize(size);
  }

  /// Rank `rank` posts a sum of one number of its own.
  bool post(std::uint32_t rank, std::uint64_t token, std::int64_t value) {
    auto& box = values[rank].emplace_back(std::make_unique<std::int64_t>(value));
    Operation o{.coll = Coll::allreduce, .op = Op::sum, .dtype = Dtype::int64, .count = 1};
    o.src = std::as_bytes(std::span(box.get(), 1));
    o.dst = std::as_writable_bytes(std::span(box.get(), 1));
    o.token = token;
    return groups[rank]->post(o, tree.now).has_value();
  }
  void post_all(std::uint64_t token) {
    for (std::uint32_t rank = 0; rank < groups.size(); ++rank) ASSERT_TRUE(post(rank, token, rank + token));
  }
  Heard hear(std::uint32_t rank, const TestTree::End::Datagram& datagram) {
    return hear(rank, datagram.header, datagram.data);
  }
  Heard hear(std::uint32_t rank, const wire::AggHeader& header, std::span<const std::byte> data) {
    return groups[rank]->on_multicast(header, tree.frame(header, data), tree.now);
  }
  /// The node's answers stay on their wires; what goes up arrives.
  void run_upwards() { tree.run_to(node); }

  std::vector<std::vector<std::unique_ptr<std::int64_t>>> values;
};

TEST(Multicast, members_hear_of_the_address_before_the_group_stands) {
  World world(3);
  for (const auto& group : world.groups) {
    ASSERT_EQ(group->phase(), ClientGroup::Phase::standing);
    ASSERT_TRUE(group->invitation());
    EXPECT_EQ(group->invitation()->port, 5383);
  }
  World without(3, false);
  EXPECT_FALSE(without.groups[0]->invitation());
}

TEST(Multicast, completes_an_operation_before_the_link_does) {
  World world(3);
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
  World world(2);
  world.post_all(1);
  world.run_upwards();
  const auto datagram = world.node.datagrams.at(0);
  const auto changed = [&](auto change) {
    auto header = datagram.header;
    change(header);
    return world.hear(0, header, datagram.data);
  };
  EXPECT_EQ(changed([](auto& h) { h.epoch += 1; }), Heard::discarded);
  EXPECT_EQ(changed([](auto& h) { h.group_id += 0x10000; }), Heard::discarded)
      << "of a former group of the same number";
  EXPECT_EQ(changed([](auto& h) { h.tree_id += 1; }), Heard::discarded);
  EXPECT_EQ(changed([](auto& h) { h.sequence += 1; }), Heard::discarded) << "of a number that was not sent";
  EXPECT_EQ(changed([](auto& h) { h.sequence -= 1; }), Heard::late);
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
  World world(2);
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

// The window counts the link's copies: a node goes by what it has sent on our link.
TEST(Multicast, nobody_gets_ahead_of_the_window_by_it) {
  World world(2);
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
  World world(2);
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

// A verdict takes effect when everything before its number is complete, whichever way that came.
TEST(Multicast, a_verdict_does_not_undo_what_came_early) {
  World world(2);
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

TEST(Multicast, is_not_sent_where_nobody_listens) {
  World world(3);
  world.groups[0]->listen(false);
  world.groups[2]->listen(false);
  world.post_all(1);
  world.tree.run();
  EXPECT_EQ(world.node.datagrams.size(), 1u) << "one who listens is enough";
  world.groups[1]->listen(false);
  world.post_all(2);
  world.tree.run();
  EXPECT_EQ(world.node.datagrams.size(), 1u);
}

TEST(Multicast, is_given_up_by_a_root_that_can_not_send) {
  World world(2);
  world.node.multicast_fails = true;
  world.post_all(1);
  world.tree.run();
  world.node.multicast_fails = false;
  world.post_all(2);
  world.tree.run();
  EXPECT_THAT(world.node.datagrams, IsEmpty()) << "it was tried once";
  EXPECT_EQ(world.groups[0]->outstanding(), 2u);
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
}

TEST(Multicast, members_stop_listening_where_nothing_comes_or_always_late) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late ? "always late" : "nothing comes");
    World world(2);
    for (std::uint64_t token = 1; token <= 64; ++token) {
      EXPECT_TRUE(world.groups[0]->listening()) << token;
      world.post_all(token);
      world.tree.run();
      if (late) {
        EXPECT_EQ(world.hear(0, world.node.datagrams.back()), Heard::late);
      }
      for (auto& group : world.groups) EXPECT_TRUE(group->next_completion());
    }
    EXPECT_FALSE(world.groups[0]->listening());
    const auto sent = world.node.datagrams.size();
    EXPECT_EQ(sent, 64u);
    world.post_all(65);
    world.tree.run();
    EXPECT_EQ(world.node.datagrams.size(), sent) << "and the root stops sending";
  }
}

TEST(Multicast, members_go_on_listening_where_a_quarter_comes_first) {
  World world(2);
  for (std::uint64_t token = 1; token <= 200; ++token) {
    world.post_all(token);
    world.run_upwards();
    if (token % 4 == 0) {
      EXPECT_EQ(world.hear(0, world.node.datagrams.back()), Heard::taken);
    }
    world.tree.run();
    for (auto& group : world.groups) EXPECT_TRUE(group->next_completion());
  }
  EXPECT_TRUE(world.groups[0]->listening());
  EXPECT_FALSE(world.groups[1]->listening());
}

TEST(Multicast, only_whole_small_operations_go_by_it) {
  World world(2);
  const auto datagrams_of = [&](Operation o, std::size_t bytes) {
    std::vector<std::vector<std::byte>> src(2, std::vector<std::byte>(bytes)), dst = src;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      o.src = src[rank];
      o.dst = dst[rank];
      if (o.coll == Coll::bcast && o.root != rank)
        o.give = {0, 0};
      else
        o.give = {0, kToTheEnd};
      EXPECT_TRUE(world.groups[rank]->post(o, world.tree.now));
    }
    const auto before = world.node.datagrams.size();
    world.tree.run();
    for (auto& group : world.groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
    return world.node.datagrams.size() - before;
  };
  Operation sum{.coll = Coll::allreduce, .op = Op::sum, .dtype = Dtype::int32, .count = 32};
  EXPECT_EQ(datagrams_of(sum, 128), 1u);
  sum.count = 33;
  EXPECT_EQ(datagrams_of(sum, 132), 0u) << "two fragments";
  sum.count = 4;
  sum.streaming = true;
  EXPECT_EQ(datagrams_of(sum, 16), 0u);
  EXPECT_EQ(datagrams_of({.coll = Coll::barrier}, 0), 1u);
  EXPECT_EQ(datagrams_of({.coll = Coll::reduce, .op = Op::sum, .dtype = Dtype::int32, .count = 1}, 4), 1u);
  EXPECT_EQ(datagrams_of({.coll = Coll::bcast, .dtype = Dtype::uint8, .count = 5, .root = 1}, 5), 1u);
  EXPECT_EQ(world.hear(1, world.node.datagrams.back()), Heard::late) << "its own data";
  EXPECT_EQ(datagrams_of({.coll = Coll::refusal}, 0), 0u);
}

/// Two clients at the leaf, one at the root; whoever is invited listens.
struct Deep : test::TwoNodes {
  explicit Deep(wire::VersionRange leaf_versions = {}, wire::VersionRange client_versions = {})
      : TwoNodes({}, leaf_versions, {client_versions, {}}) {
    root.invitation = test::kInvitation;
    make_group();
    for (auto& group : groups)
      if (group->invitation()) group->listen(true);
  }
  void barrier() {
    for (auto& group : groups) EXPECT_TRUE(group->post({.coll = Coll::barrier}, tree.now));
    tree.run();
    for (auto& group : groups) EXPECT_EQ(group->next_completion()->status, Errc::ok) << group->why();
  }
};

TEST(Multicast, the_root_alone_sends_it_past_the_nodes_below) {
  Deep world;
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 1u);
  EXPECT_EQ(world.root.node->stats().multicasts, 1u);
  EXPECT_THAT(world.leaf.datagrams, IsEmpty());
  EXPECT_EQ(world.groups[0]->invitation(), world.groups[2]->invitation());
  // One below who listens is enough.
  world.groups[1]->listen(false);
  world.groups[2]->listen(false);
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 2u);
  world.groups[0]->listen(false);
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 2u);
}

TEST(Multicast, old_members_and_nodes_go_on_without_it) {
  {
    Deep world({}, {1, 2});
    EXPECT_FALSE(world.groups[0]->invitation()) << "an old client";
    EXPECT_TRUE(world.groups[1]->invitation());
    world.barrier();
    EXPECT_EQ(world.root.datagrams.size(), 1u);
    EXPECT_THAT(world.leaf.drops, IsEmpty());
  }
  Deep world({1, 2});
  EXPECT_FALSE(world.groups[0]->invitation()) << "new clients below an old leaf";
  EXPECT_FALSE(world.groups[1]->invitation());
  ASSERT_TRUE(world.groups[2]->invitation());
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 1u) << "for the one beside it";
  EXPECT_THAT(world.root.drops, IsEmpty());
  EXPECT_THAT(world.leaf.drops, IsEmpty());
}

// Whatever comes of the datagrams, in whatever order with the links' copies: the same sums in the same order.
TEST(Multicast, seeds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(2 + random.below(4));
    World world(size);
    constexpr std::uint64_t kOperations = 30;
    std::vector<std::uint64_t> posted(size), completed(size);
    while (*std::ranges::min_element(completed) < kOperations) {
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        if (posted[rank] < kOperations && random.chance(0.5)) {
          ASSERT_TRUE(world.post(rank, posted[rank], static_cast<std::int64_t>(posted[rank] * 10 + rank)));
          ++posted[rank];
        }
        // Any datagram so far: lost (never chosen), late, again, out of order.
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
