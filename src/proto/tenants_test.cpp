// Jobs share one node: each has a share of its memory, and unread results count against the job of the member that left
// them.
#include <gtest/gtest.h>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::kJob;
using test::StandingGroup;
using test::TwoNodes;

TEST(Tenants, gives_each_job_a_share_of_the_memory_for_streaming) {
  NodeLimits limits{.osts = 320, .groups = 40};
  limits.stream_bytes = 80 * number_bytes(512);
  StandingGroup world(2, limits, test::grant(32, 4));  // the job has a tenth of the node's OSTs and groups
  EXPECT_EQ(world.groups[0]->shape().stream_window, 4u);
  auto first = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->shape().stream_window, 4u);
  auto second = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.groups[0]->shape().stream_window, 0u) << "8 of 80 are its share, though nobody else has the others";
}

TEST(Tenants, lets_a_member_leave_unread_what_its_windows_allow_and_nothing_when_its_groups_are_over) {
  StandingGroup world(2);
  const auto link = world.clients[0]->up.value;
  const auto each = 2 * 8 * BufferPool::footprint(64 + 128) + 4 * BufferPool::footprint(64 + 512);
  EXPECT_EQ(world.node.allowed.at(link), each);
  auto first = std::move(world.groups);
  world.make();
  EXPECT_EQ(world.node.allowed.at(link), 2 * each);
  for (auto* groups : {&first, &world.groups})
    for (auto& group : *groups) group->leave({});
  world.tree.run();
  EXPECT_EQ(world.node.allowed.at(link), 0u);
}

TEST(Tenants, counts_what_members_of_a_former_group_have_not_read_until_they_have) {
  StandingGroup world(2);
  Node& node = *world.node.node;
  const auto window = node.stats().window_bytes;
  ASSERT_GT(window, 0u);
  const auto link = world.clients[0]->up.value;
  world.node.unread[link] = 1000;
  for (auto& group : world.groups) group->leave({});
  world.tree.run();
  EXPECT_TRUE(node.idle());
  EXPECT_EQ(node.stats().window_bytes, window) << "the results lie in the queue of a member that said it has them";
  EXPECT_GT(world.node.allowed.at(link), 0u);
  ASSERT_TRUE(node.revoke(kJob, {}));
  node.tick(at(Seconds(1)));
  EXPECT_EQ(node.jobs().size(), 1u) << "nor is the job gone";
  world.node.unread.clear();
  node.tick(at(Seconds(2)));
  EXPECT_EQ(node.stats().window_bytes, 0u);
  EXPECT_EQ(world.node.allowed.at(link), 0u);
  EXPECT_TRUE(node.jobs().empty());
  EXPECT_EQ(node.next_due(), kNever);
}

TEST(Tenants, ends_what_nobody_reads_with_the_job) {
  StandingGroup world(2);
  Node& node = *world.node.node;
  world.node.unread[world.clients[0]->up.value] = 1000;
  for (auto& group : world.groups) group->leave({});
  world.tree.run();
  ASSERT_TRUE(node.revoke(kJob, {}));
  node.tick(at(Seconds(31)));
  EXPECT_EQ(node.stats().window_bytes, 0u);
  EXPECT_EQ(node.links(), 0u);
  EXPECT_TRUE(node.jobs().empty());
}

TEST(Tenants, names_the_node_that_is_gone_and_who_noticed) {
  TwoNodes world;
  world.make_group();
  for (auto& group : world.groups) ASSERT_TRUE(group->post({}, {}));
  world.tree.run();
  world.root.node->on_link_closed(world.leaf.up, {}, {.where = "10.77.0.6", .silence = Millis{1003}});
  world.leaf.node->on_link_closed(world.leaf.up, {},
                                  {.name = "an-root", .where = "10.77.0.2", .silence = Millis{1200}});
  world.tree.run();
  EXPECT_EQ(world.groups.back()->why(),
            "node id-101 (10.77.0.6) stopped answering; its parent id-100 noticed after 1.0 s");
  EXPECT_EQ(world.groups.front()->why(),
            "node an-root (10.77.0.2) stopped answering; its child id-101 noticed after 1.2 s");
}

}  // namespace
}  // namespace sumac::proto
