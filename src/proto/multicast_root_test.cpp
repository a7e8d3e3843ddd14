// Only a group's root sends results by multicast, as long as sending works and some member listens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/test_multicast.hpp"

namespace sumac::proto {
namespace {

using test::MulticastGroup;
using testing::IsEmpty;
using wire::Coll;
using Heard = ClientGroup::Heard;

TEST(Multicast, members_hear_of_the_address_before_the_group_stands) {
  MulticastGroup world(3);
  for (const auto& group : world.groups) {
    ASSERT_EQ(group->phase(), ClientGroup::Phase::standing);
    ASSERT_TRUE(group->invitation());
    EXPECT_EQ(group->invitation()->port, 5383);
  }
  const test::StandingGroup without(3);
  EXPECT_FALSE(without.groups[0]->invitation());
}

TEST(Multicast, is_not_sent_where_nobody_listens) {
  MulticastGroup world(3);
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
  MulticastGroup world(2);
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

TEST(Multicast, only_whole_small_operations_go_by_it) {
  MulticastGroup world(2);
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
  EXPECT_EQ(datagrams_of({.coll = Coll::reduce, .op = Op::sum, .dtype = Dtype::int32, .count = 1}, 4), 0u);
  EXPECT_EQ(datagrams_of({.coll = Coll::bcast, .dtype = Dtype::uint8, .count = 5, .root = 1}, 5), 0u)
      << "it is answered before the root knows whether anybody listens";
  EXPECT_EQ(datagrams_of({.coll = Coll::refusal}, 0), 0u);
}

/// Two clients at the leaf, one at the root; every invited client listens.
struct Deep : test::TwoNodes {
  Deep() {
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
  // One listener below is enough.
  world.groups[1]->listen(false);
  world.groups[2]->listen(false);
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 2u);
  world.groups[0]->listen(false);
  world.barrier();
  EXPECT_EQ(world.root.datagrams.size(), 2u);
}

}  // namespace
}  // namespace sumac::proto
