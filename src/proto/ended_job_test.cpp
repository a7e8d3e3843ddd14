// A job has ended: its members have a while to leave, then the node ends the groups and links that they still hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::kJob;
using test::StandingGroup;

/// Its members leave, and make another one with one who does not come.
void wait_for_a_member(StandingGroup& world) {
  for (auto& group : world.groups) group->leave({});
  world.tree.run();
  world.clients[0]->client->open(77, 2, {});
  world.tree.run();
  world.make([](ClientGroupConfig& config) { config.group_size = config.path.entries[0].expected_members = 3; });
  ASSERT_EQ(world.node.node->groups().size(), 1u);
}

TEST(EndedJob, ends_what_an_ended_job_still_holds_when_its_members_time_is_over) {
  const Time end = at(Seconds(100));
  for (const bool is_complete : {true, false}) {
    SCOPED_TRACE(is_complete ? "a group that stands" : "a group that waits for a member");
    StandingGroup world(2);
    Node& node = *world.node.node;
    if (!is_complete) wait_for_a_member(world);
    world.tree.now = end;
    ASSERT_TRUE(node.revoke(kJob, end, "node an-leaf2 stays away: start it again"));
    EXPECT_THAT(node.take_forgotten(), testing::IsEmpty());
    EXPECT_EQ(node.next_due(), end + Seconds(30));
    node.tick(end + Seconds(30) - Millis(1));
    world.tree.run();
    EXPECT_EQ(node.groups().size(), 1u) << "until then its members may leave as they like";
    EXPECT_FALSE(node.grant({.job_id = JobId{9}, .quota = {.osts = 512, .payload_per_ost = 128, .max_groups = 1}}));
    node.tick(end + Seconds(30));
    world.tree.run();
    EXPECT_TRUE(node.groups().empty());
    EXPECT_EQ(node.links(), 0u);
    EXPECT_TRUE(node.jobs().empty());
    EXPECT_EQ(node.stats().window_bytes, 0u);
    EXPECT_THAT(node.take_forgotten(), testing::ElementsAre(kJob));
    EXPECT_EQ(node.next_due(), kNever);
    EXPECT_TRUE(node.grant({.job_id = JobId{9}, .quota = {.osts = 512, .payload_per_ost = 128, .max_groups = 512}}));
    for (std::size_t rank = 0; rank < world.clients.size(); ++rank) {
      EXPECT_TRUE(world.clients[rank]->client->closed());
      EXPECT_NE(world.groups[rank]->phase(), ClientGroup::Phase::standing) << world.groups[rank]->why();
      if (is_complete) {
        EXPECT_EQ(world.groups[rank]->why(),
                  "the job has ended: node an-leaf2 stays away: start it again; its time to leave is over");
      }
    }
  }
}

TEST(EndedJob, goes_on_when_its_grant_comes_again) {
  StandingGroup world(2);
  Node& node = *world.node.node;
  const auto grant = node.jobs().at(0).grant;
  ASSERT_TRUE(node.revoke(kJob, {}, "its lease ended"));
  world.clients[0]->client->open(78, 2, {});
  world.tree.run();
  EXPECT_EQ(node.groups().size(), 1u) << "a revoked job makes no group";
  ASSERT_TRUE(node.grant(grant));
  EXPECT_FALSE(node.jobs().at(0).revoked);
  node.tick(at(Seconds(1000)));
  for (auto& group : world.groups) ASSERT_TRUE(group->post({}, {}));
  world.tree.run();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
  EXPECT_EQ(node.jobs().at(0).groups_used, 1u) << "the id of its group is counted again";
}

TEST(EndedJob, another_grant_of_the_job_ends_what_its_members_still_hold) {
  for (const bool is_complete : {true, false}) {
    SCOPED_TRACE(is_complete ? "a group that stands" : "a group that waits for a member");
    StandingGroup world(2);
    Node& node = *world.node.node;
    if (!is_complete) wait_for_a_member(world);
    auto next = node.jobs().at(0).grant;
    next.quota.osts /= 2;
    EXPECT_FALSE(node.grant(next)) << "the job has its tree";
    world.tree.run();
    EXPECT_EQ(node.groups().size(), 1u);
    ASSERT_TRUE(node.revoke(kJob, {}, "a rank on host h2 cannot use them"));
    ASSERT_TRUE(node.grant(next));
    world.tree.run();
    EXPECT_TRUE(node.groups().empty());
    EXPECT_EQ(node.jobs().at(0).grant, next);
    for (auto& group : world.groups) EXPECT_NE(group->phase(), ClientGroup::Phase::joining);
  }
}

TEST(EndedJob, leaves_other_jobs_links_alone_when_it_ends_one) {
  StandingGroup world(2);
  Node& node = *world.node.node;
  ASSERT_TRUE(node.grant({.job_id = JobId{9}, .quota = {.osts = 4, .payload_per_ost = 128, .max_groups = 1}}));
  ASSERT_TRUE(node.revoke(JobId{9}, {}));
  EXPECT_THAT(node.take_forgotten(), testing::ElementsAre(JobId{9})) << "it held nothing";
  ASSERT_TRUE(node.grant({.job_id = JobId{9}, .quota = {.osts = 4, .payload_per_ost = 128, .max_groups = 1}}));
  node.tick(at(Seconds(1000)));
  for (auto& group : world.groups) ASSERT_TRUE(group->post({}, {}));
  world.tree.run();
  EXPECT_EQ(world.groups[0]->next_completion()->status, Errc::ok);
  EXPECT_EQ(node.links(), 2u);
}

}  // namespace
}  // namespace sumac::proto
