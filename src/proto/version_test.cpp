// Old beside new, as in the midst of an upgrade: peers find the highest version that both speak, do without what it lacks, and where
// there is none say so on both sides, with both ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/test_tree.hpp"

namespace sumac::proto {
namespace {

using test::kJob;
using test::kTree;
using test::TestTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::VersionRange;

TEST(Version, the_highest_that_both_speak) {
  const struct {
    VersionRange a, b;
    std::uint16_t common;
  } rows[] = {{{1, 1}, {1, 1}, 1}, {{1, 2}, {1, 2}, 2}, {{1, 1}, {1, 2}, 1}, {{1, 2}, {2, 3}, 2},
              {{2, 5}, {1, 3}, 3}, {{1, 1}, {2, 3}, 0}, {{3, 4}, {1, 2}, 0}, {{1, 65535}, {65535, 65535}, 65535}};
  for (const auto& row : rows) {
    EXPECT_EQ(wire::common_version(row.a, row.b), row.common);
    EXPECT_EQ(wire::common_version(row.b, row.a), row.common);
  }
}

struct Mixed : test::TwoNodes {
  using TwoNodes::TwoNodes;

  /// The sum over all of 1, and every member's word on whether it could be posted.
  Errc sum_of_ones(bool reproducible) {
    std::vector<float> values(groups.size(), 1.0F);
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
      Operation o{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::float32, .count = 1};
      o.reproducible = reproducible;
      o.src = std::as_bytes(std::span(&values[rank], 1));
      o.dst = std::as_writable_bytes(std::span(&values[rank], 1));
      if (const auto posted = groups[rank]->post(o, tree.now); !posted) return posted.error();
    }
    tree.run();
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
      const auto completion = groups[rank]->next_completion();
      if (!completion || completion->status != Errc::ok) return Errc::lost;
      EXPECT_EQ(values[rank], static_cast<float>(groups.size()));
    }
    return Errc::ok;
  }

  /// A stream of all; whether it is exact, and went in chunks.
  bool streams() {
    std::vector<std::vector<float>> values(groups.size(), std::vector<float>(1000, 1.0F));
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
      Operation o{.coll = wire::Coll::allreduce, .op = Op::sum, .dtype = Dtype::float32, .count = 1000};
      o.src = std::as_bytes(std::span(values[rank]));
      o.dst = std::as_writable_bytes(std::span(values[rank]));
      o.streaming = true;
      EXPECT_TRUE(groups[rank]->post(o, tree.now));
    }
    tree.run();
    bool streamed = true;
    for (std::size_t rank = 0; rank < groups.size(); ++rank) {
      const auto completion = groups[rank]->next_completion();
      streamed = streamed && completion && completion->status == Errc::ok && completion->streamed;
      EXPECT_EQ(values[rank], std::vector<float>(1000, static_cast<float>(groups.size())));
    }
    return streamed;
  }
  /// The highest version of any number that anybody sent.
  int highest_sent() const {
    int highest = 0;
    const auto look = [&](const TestTree::End& end) {
      for (const auto& header : end.sent) highest = std::max<int>(highest, header.version);
    };
    look(root);
    look(leaf);
    for (const auto* client : clients) look(*client);
    return highest;
  }
};

TEST(Version, old_and_new_work_together_without_what_the_old_lack) {
  const struct {
    const char* name;
    VersionRange root, leaf, first, second;
    bool reproducible, locks;
  } rows[] = {
      {"all new", {1, 3}, {1, 3}, {1, 3}, {1, 3}, true, true},
      {"an old client at a new node", {1, 3}, {1, 3}, {1, 3}, {1, 1}, false, false},
      {"one of version 2", {1, 3}, {1, 3}, {1, 2}, {1, 3}, true, false},
      {"new clients at an old node", {1, 3}, {1, 1}, {1, 3}, {1, 3}, false, false},
      {"new clients at one of version 2", {1, 3}, {1, 2}, {1, 3}, {1, 3}, true, false},
      {"a new leaf below an old root", {1, 1}, {1, 3}, {1, 3}, {1, 3}, false, false},
      {"a new leaf below one of version 2", {1, 2}, {1, 3}, {1, 3}, {1, 3}, true, false},
      {"an old leaf with old clients below a new root", {1, 3}, {1, 1}, {1, 1}, {1, 1}, false, false},
      {"a client that speaks what is to come", {1, 3}, {1, 3}, {2, 7}, {1, 3}, true, true},
      {"a node that no longer speaks version 1, with new clients", {1, 3}, {2, 4}, {1, 3}, {2, 3}, true, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Mixed world(row.root, row.leaf, {row.first, row.second});
    EXPECT_EQ(world.clients[0]->client->version(), wire::common_version(row.first, row.leaf));
    world.make_group();
    for (const auto& group : world.groups) {
      ASSERT_EQ(group->phase(), ClientGroup::Phase::standing) << group->why();
      // All members hear the same: they could not agree on an operation otherwise.
      EXPECT_EQ(group->shape().reproducible, row.reproducible);
      EXPECT_EQ(group->shape().locks, row.locks);
    }
    EXPECT_EQ(world.sum_of_ones(false), Errc::ok);
    EXPECT_EQ(world.sum_of_ones(true), row.reproducible ? Errc::ok : Errc::unsupported);
    // Old ones stream without a lock, and so do all.
    EXPECT_TRUE(world.streams());
    for (const auto& group : world.groups)
      EXPECT_EQ(group->stream_lock(), row.locks ? StreamLock::held : StreamLock::none);
    EXPECT_EQ(world.groups[0]->ask_for_lock({}), row.locks ? Errc::ok : Errc::unsupported);
    EXPECT_EQ(world.highest_sent(), row.locks ? 3 : row.reproducible ? 2 : 1) << "nobody gets what it does not know";
    EXPECT_THAT(world.root.drops, IsEmpty());
    EXPECT_THAT(world.leaf.drops, IsEmpty());
  }
}

TEST(Version, refused_calls_are_found_out_where_somebody_is_old) {
  for (const std::uint16_t oldest : {1, 2, 3}) {
    SCOPED_TRACE(oldest);
    Mixed world({1, 3}, {1, 3}, {{1, 3}, {1, oldest}});
    world.make_group();
    const Operation refusal{.coll = wire::Coll::refusal};
    // All: the group goes on.
    for (auto& group : world.groups) ASSERT_TRUE(group->post(refusal, {}));
    world.tree.run();
    for (auto& group : world.groups) EXPECT_EQ(group->next_completion()->status, Errc::ok);
    EXPECT_EQ(world.sum_of_ones(false), Errc::ok);
    // One alone: a verdict that names it, and nobody waits.
    for (std::size_t rank = 0; rank < world.groups.size(); ++rank)
      ASSERT_TRUE(world.groups[rank]->post(rank == 1 ? refusal : Operation{}, {}));
    world.tree.run();
    for (auto& group : world.groups) {
      const auto over = group->next_completion();
      ASSERT_TRUE(over) << "left waiting";
      EXPECT_EQ(over->status, Errc::verdict);
      EXPECT_THAT(group->why(), HasSubstr("rank 1 refused its own call (its log says why), rank"));
    }
    EXPECT_EQ(world.highest_sent(), oldest == 3 ? 3 : 1);
    EXPECT_THAT(world.leaf.drops, IsEmpty());
  }
}

TEST(Version, a_member_that_gives_up_says_so_in_words_that_all_know) {
  for (const std::uint16_t oldest : {2, 3}) {
    Mixed world({1, oldest}, {1, 3}, {{1, 3}, {1, 3}});
    world.make_group();
    for (const std::size_t rank : {0, 2}) ASSERT_TRUE(world.groups[rank]->post({}, {}));
    world.groups[1]->give_up();
    world.tree.run();
    EXPECT_EQ(world.groups[0]->why(),
              oldest == 3 ? "rank 1 gave up (its log says why)" : "rank 1 lost its connection to the tree");
  }
}

TEST(Version, a_lock_in_a_group_that_has_none_costs_its_sender_the_connection) {
  Mixed world({1, 3}, {1, 3}, {{1, 3}, {1, 2}});
  world.make_group();
  wire::AggHeader h;
  h.kind = wire::AggKind::contribute;
  h.tree_id = kTree;
  h.group_id = world.groups[0]->config().group_id;
  h.coll = wire::Coll::lock;
  h.flags = wire::kFlagFirst | wire::kFlagLast;
  h.origin = 0;
  h.members = 1;
  h.version = wire::version_of(h);
  world.tree.inject(*world.clients[0], world.clients[0]->up, h, {});
  world.tree.run();
  ASSERT_EQ(world.leaf.drops.size(), 1u);
  EXPECT_THAT(world.leaf.drops[0], HasSubstr("of wire version 3, which somebody of the group does not speak"));
}

TEST(Version, a_client_without_a_version_in_common_is_told_both_ranges) {
  const struct {
    const char* name;
    VersionRange client;
    const char *client_hears, *node_says;
  } rows[] = {
      {"too new",
       {4, 5},
       "no wire version in common: node 101 speaks 1 to 3, this side 4 to 5: update the older one",
       "hello: no wire version in common: world rank 0 speaks 4 to 5, this node 1 to 3: update the older one"},
      {"the next one only", {4, 4}, "node 101 speaks 1 to 3, this side 4 to 4", "world rank 0 speaks 4 to 4"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Mixed world({}, {}, {row.client});
    EXPECT_TRUE(world.clients[0]->client->closed());
    EXPECT_EQ(world.clients[0]->client->version(), 0);
    EXPECT_THAT(world.clients[0]->client->why_closed(), HasSubstr(row.client_hears));
    ASSERT_EQ(world.leaf.drops.size(), 1u);
    EXPECT_THAT(world.leaf.drops[0], HasSubstr(row.node_says));
  }
}

TEST(Version, an_old_client_is_refused_by_a_node_that_no_longer_speaks_its_version) {
  Mixed world({2, 3}, {2, 3}, {{1, 1}});
  EXPECT_THAT(world.clients[0]->client->why_closed(), HasSubstr("node 101 speaks 2 to 3, this side 1 to 1"));
  ASSERT_EQ(world.leaf.drops.size(), 1u);
  EXPECT_THAT(world.leaf.drops[0], HasSubstr("world rank 0 speaks 1 to 1, this node 2 to 3"));
  EXPECT_FALSE(world.clients[1]->client->closed()) << "the others are not touched";
}

TEST(Version, a_node_without_a_version_in_common_with_its_parent_says_so_on_both_sides) {
  Mixed world({4, 5}, {1, 3}, {});
  ASSERT_EQ(world.root.drops.size(), 1u + 1u) << "the node, and the client at the root, which speaks 1 to 3 as well";
  EXPECT_THAT(world.root.drops[0], HasSubstr("node 101 speaks 1 to 3, this node 4 to 5"));
  ASSERT_EQ(world.leaf.drops.size(), 1u);
  EXPECT_THAT(world.leaf.drops[0],
              HasSubstr("the parent refuses this node: no wire version in common: node 100 speaks 4 "
                        "to 5, this side 1 to 3"));
}

TEST(Version, nothing_goes_up_before_the_parent_has_said_welcome) {
  TestTree tree;
  auto& root = tree.add_node(100);
  auto& leaf = tree.add_node(101, false);
  ASSERT_TRUE(leaf.node->grant(test::grant()));
  auto& client = tree.add_client(leaf, 0);
  tree.run();
  client.client->open(1, 1, tree.now);
  tree.set_parent(leaf, root);
  const auto controls = leaf.controls;  // its welcome to the client, its hello to the parent
  EXPECT_EQ(controls, 2u);
  // A parent that says anything else first is none.
  wire::AggHeader opened;
  opened.kind = wire::AggKind::opened;
  opened.tree_id = kTree;
  wire::OpenedBody body{.job_id = kJob, .token = 1, .group_id = 65537};
  opened.payload_bytes = sizeof body;
  std::byte bytes[sizeof body];
  wire::store(bytes, body);
  leaf.node->on_message(leaf.up, tree.frame(opened, bytes), tree.now);
  ASSERT_EQ(leaf.drops.size(), 1u);
  EXPECT_THAT(leaf.drops[0], HasSubstr("a parent says welcome first"));
}

}  // namespace
}  // namespace sumac::proto
