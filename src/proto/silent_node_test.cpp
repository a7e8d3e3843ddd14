// A neighbour node that has been silent for a second: groups that outlive their tree end at once, other groups and the
// connection wait. The neighbour may only be late: then it learns that the group is over, and nothing of it stays anywhere.
#include <gtest/gtest.h>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::TwoNodes;
using Phase = ClientGroup::Phase;

/// Ranks 0 and 1 at the leaf, rank 2 at the root.
struct Silence : TwoNodes {
  explicit Silence(std::uint64_t who_outlives = 7) {
    groups = test::join_group(tree, clients, 1, [&](ClientGroupConfig& config) {
      config.path = {};
      if (config.rank < 2) config.path.entries[config.path.length++] = {NodeId{101}, 2};
      config.path.entries[config.path.length++] = {NodeId{100}, 3};
      config.outlives = (who_outlives >> config.rank & 1) != 0;
    });
  }
  void root_is_silent() { leaf.node->on_neighbour_silent(leaf.up, tree.now, {"root", "h0", Millis{1000}}); }
  void leaf_is_silent() { root.node->on_neighbour_silent(leaf.up, tree.now, {"", "h1", Millis{1000}}); }
  Phase phase(std::size_t rank) const { return groups[rank]->phase(); }
  void leave_all() {
    for (auto& group : groups) group->leave(tree.now);
    tree.run();
  }
  void nothing_stays() {
    for (std::size_t rank = 0; rank < groups.size(); ++rank) EXPECT_EQ(phase(rank), Phase::left) << rank;
    for (auto* node : {&root, &leaf}) {
      EXPECT_TRUE(node->node->idle());
      EXPECT_TRUE(node->drops.empty());
    }
    // The job has its ids and OSTs back.
    for (auto* node : {&root, &leaf}) {
      EXPECT_EQ(node->node->jobs()[0].osts_free, test::grant().quota.osts);
      EXPECT_EQ(node->node->jobs()[0].groups_used, 0u);
    }
  }
};

TEST(SilentNode, members_below_a_silent_parent_are_told_at_once) {
  Silence world;
  world.root_is_silent();
  world.tree.run_to(*world.clients[0]);
  world.tree.run_to(*world.clients[1]);
  for (const std::size_t rank : {0, 1}) {
    EXPECT_EQ(world.phase(rank), Phase::lost);
    EXPECT_EQ(world.groups[rank]->why(), "node root (h0) stopped answering; its child id-101 noticed after 1.0 s");
  }
  EXPECT_EQ(world.phase(2), Phase::standing) << "the root is silent: it tells nobody";
}

TEST(SilentNode, a_parent_that_was_only_late_ends_the_group_at_the_other_members_too) {
  Silence world;
  world.root_is_silent();
  world.root_is_silent();  // The silence lasts.
  world.tree.run();
  EXPECT_EQ(world.phase(2), Phase::condemned);
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, members_elsewhere_are_told_of_a_silent_child) {
  Silence world;
  world.leaf_is_silent();
  world.tree.run_to(*world.clients[2]);
  EXPECT_EQ(world.phase(2), Phase::condemned);
  EXPECT_EQ(world.groups[2]->why(), "node id-101 (h1) stopped answering; its parent id-100 noticed after 1.0 s");
  world.leaf_is_silent();
  world.tree.run();
  EXPECT_EQ(world.phase(0), Phase::condemned) << "the child was only late";
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, members_are_told_of_a_rank_whose_host_does_not_answer) {
  Silence world;
  const auto link = world.clients[0]->up;
  EXPECT_EQ(world.leaf.node->on_neighbour_silent(link, world.tree.now, {"", "h2", Millis{1500}}), 1u);
  EXPECT_EQ(world.leaf.node->on_neighbour_silent(link, world.tree.now, {"", "h2", Millis{2000}}), 0u);
  world.tree.run();
  for (const std::size_t rank : {1, 2}) {
    EXPECT_EQ(world.phase(rank), Phase::condemned) << rank;
    EXPECT_EQ(world.groups[rank]->why(), "rank 0 lost its connection to the tree") << rank;
  }
  EXPECT_EQ(world.phase(0), Phase::condemned) << "its host was only late";
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, a_silent_child_has_left_where_the_others_leave) {
  Silence world;
  world.leaf_is_silent();
  world.tree.run_to(*world.clients[2]);
  world.groups[2]->leave(world.tree.now);
  world.tree.run_to(world.root);
  EXPECT_TRUE(world.root.node->idle());
  world.tree.run();
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, both_take_each_other_for_silent) {
  Silence world;
  world.leaf_is_silent();
  world.root_is_silent();
  world.tree.run();
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, what_members_sent_before_they_were_told_costs_nobody_a_connection) {
  Silence world;
  const std::int32_t one = 1;
  std::int32_t sums[3]{};
  for (std::size_t rank = 0; rank < 3; ++rank)
    ASSERT_TRUE(world.groups[rank]->post({.coll = wire::Coll::allreduce,
                                          .op = Op::sum,
                                          .dtype = Dtype::int32,
                                          .count = 1,
                                          .src = std::as_bytes(std::span(&one, 1)),
                                          .dst = std::as_writable_bytes(std::span(sums + rank, 1))},
                                         world.tree.now));
  world.root_is_silent();
  world.tree.run();
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, a_leave_that_is_under_way_does_not_wait_for_a_silent_parent) {
  Silence world;
  world.groups[0]->leave(world.tree.now);
  world.groups[1]->leave(world.tree.now);
  world.groups[2]->leave(world.tree.now);
  world.tree.run_to(world.leaf);
  world.root_is_silent();
  world.tree.run_to(*world.clients[0]);
  EXPECT_EQ(world.phase(0), Phase::left);
  world.tree.run();
  world.nothing_stays();
}

TEST(SilentNode, a_group_that_one_member_would_not_outlive_waits_for_its_tree) {
  Silence world(3);  // Rank 2 says nothing of it, as of an older library.
  world.leaf_is_silent();
  world.tree.run();
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(world.phase(rank), Phase::standing) << rank;
  world.leave_all();
  world.nothing_stays();
}

TEST(SilentNode, other_groups_of_the_same_connection_go_on) {
  Silence world(0);
  world.leaf_is_silent();
  world.root_is_silent();
  world.tree.run();
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(world.phase(rank), Phase::standing) << rank;
  EXPECT_TRUE(world.leaf.node->has_parent());
}

TEST(SilentNode, a_group_that_forms_through_a_silent_parent_is_refused_below_it) {
  TwoNodes world;
  world.clients[0]->client->open(1, 3, world.tree.now);
  world.tree.run();
  std::vector<std::unique_ptr<ClientGroup>> groups;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ClientGroupConfig config{.job_id = test::kJob,
                             .tree_id = test::kTree,
                             .group_id = world.clients[0]->client->open_outcome(1).group_id,
                             .rank = rank,
                             .world_rank = WorldRank{rank},
                             .group_size = 3,
                             .osts = 8,
                             .payload_per_ost = 128,
                             .outlives = true};
    if (rank < 2) config.path.entries[config.path.length++] = {NodeId{101}, 2};
    config.path.entries[config.path.length++] = {NodeId{100}, 3};
    groups.push_back(ClientGroup::make(config, *world.clients[rank], world.clients[rank]->up).value());
    world.clients[rank]->client->attach(*groups.back());
    groups.back()->start(world.tree.now);
  }
  world.tree.run_to(world.leaf);
  world.leaf.node->on_neighbour_silent(world.leaf.up, world.tree.now);
  world.tree.run();
  EXPECT_EQ(groups[0]->phase(), Phase::refused);
  EXPECT_EQ(groups[1]->phase(), Phase::refused);
  EXPECT_EQ(groups[2]->phase(), Phase::condemned) << "the parent was only late, and knows";
  groups[2]->leave(world.tree.now);
  world.tree.run();
  EXPECT_TRUE(world.leaf.node->idle());
  EXPECT_TRUE(world.root.node->idle());
}

}  // namespace
}  // namespace sumac::proto
