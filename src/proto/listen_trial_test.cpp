// A member goes on listening only if enough of the last results came first by multicast.
#include <gtest/gtest.h>

#include "proto/test_multicast.hpp"

namespace sumac::proto {
namespace {

using test::MulticastGroup;
using Heard = ClientGroup::Heard;

TEST(ListenTrial, members_stop_listening_where_nothing_comes_or_always_late) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late ? "always late" : "nothing comes");
    MulticastGroup world(2);
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

TEST(ListenTrial, members_go_on_listening_where_a_quarter_comes_first) {
  MulticastGroup world(2);
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

}  // namespace
}  // namespace sumac::proto
