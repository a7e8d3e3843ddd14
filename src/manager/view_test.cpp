// The core gives the page the parts that changed, and events.
#include <gtest/gtest.h>

#include <algorithm>

#include "manager/test_world.hpp"

namespace sumac::manager {
namespace {

using page::EventKind;

std::size_t count(const page::Snapshot& snapshot, EventKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(*snapshot.events, [&](const auto& event) { return event->kind == kind; }));
}

TEST(CoreView, a_page_that_has_nothing_gets_every_part_and_later_what_changed) {
  World world;
  const auto first = world.core.snapshot({}, world.now);
  ASSERT_TRUE(first.fabric && first.sharpds && first.events);
  EXPECT_EQ(first.nodes.size(), first.fabric->fabric.nodes.size());
  EXPECT_EQ(std::ranges::count(*first.sharpds, true), 0);
  const auto same = world.core.snapshot(first.version, world.now);
  EXPECT_FALSE(same.fabric || same.sharpds || same.events);
  world.up();
  const auto later = world.core.snapshot(first.version, world.now);
  EXPECT_TRUE(later.events);
  EXPECT_EQ(count(later, EventKind::node_registered), 1u) << "a crowd is one event";
  EXPECT_TRUE(std::ranges::all_of(later.nodes, &page::NodeView::registered));
}

TEST(CoreView, jobs_come_with_their_shares_and_their_user) {
  World world;
  world.up();
  auto request = test_begin(7, {"h1", "h4"});
  request.set_uid(1001);
  ASSERT_TRUE(world.begin_and_ack(100, request));
  const auto running = world.core.snapshot({}, world.now);
  ASSERT_EQ(running.jobs.size(), 1u);
  const auto& job = *running.jobs[0].job;
  EXPECT_TRUE(running.jobs[0].granted);
  EXPECT_EQ(job.uid, 1001u);
  EXPECT_EQ(job.hosts.size(), 2u);
  ASSERT_EQ(job.shares.size(), 1u);
  EXPECT_EQ(job.shares[0].leaves.size(), 2u);
  EXPECT_EQ(count(running, EventKind::job_granted), 1u);
  EXPECT_EQ(running.events->back()->owner, 1001u);
  ASSERT_EQ(running.users.size(), 1u);
  EXPECT_EQ(running.users[0].osts, job.quota.osts);
  EXPECT_EQ(std::ranges::count(*running.sharpds, true), 1);
  world.end(100, request);
  const auto over = world.core.snapshot(running.version, world.now);
  EXPECT_EQ(count(over, EventKind::job_ended), 1u);
  EXPECT_TRUE(over.jobs.empty());
}

TEST(CoreView, what_the_kernels_of_a_node_have_done_is_shown_until_the_node_begins_anew) {
  World world;
  const auto registered = only<ToNode>(world.add(1, "an-root"));
  ASSERT_FALSE(registered.empty());
  EXPECT_GT(registered[0].message.registered().hop_totals_ms(), 0u) << "an older manager asks for none";
  const control::HopTotals some{.frames = 100, .folds = 50, .repeats = 3, .sent = 60, .strangers = 7, .run_ns = 900};
  world.core.node_hop(1, 0, some);
  world.core.node_hop(1, 4'000'000'000, some);  // there is no such tree
  EXPECT_EQ(world.core.snapshot({}, world.now).nodes[0].hop, some);
  world.core.node_hop(1, 0, {.frames = 101});
  EXPECT_EQ(world.core.snapshot({}, world.now).nodes[0].hop, (control::HopTotals{.frames = 101}));
  world.core.node_stream_ended(1, world.now);
  world.add(1, "an-root");
  EXPECT_EQ(world.core.snapshot({}, world.now).nodes[0].hop, control::HopTotals{});
}

TEST(CoreView, a_node_that_stays_away_and_a_tree_without_root_are_events) {
  World world;
  world.up();
  world.core.node_stream_ended(1, world.now);
  world.pass(Seconds(10));
  const auto after = world.core.snapshot({}, world.now);
  EXPECT_EQ(count(after, EventKind::node_lost), 2u) << "it is down, and then it is given up";
  EXPECT_EQ(count(after, EventKind::tree_changed) + count(after, EventKind::tree_lost), 1u);
}

}  // namespace
}  // namespace sumac::manager
