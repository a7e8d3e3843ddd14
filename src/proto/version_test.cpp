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

/// A root, a leaf below it, and two clients on the leaf, each of a range of its own.
struct Mixed {
  Mixed(VersionRange root_versions, VersionRange leaf_versions, std::vector<VersionRange> client_versions)
      : root(tree.add_node(100, true, {}, root_versions)), leaf(tree.add_node(101, false, {}, leaf_versions)) {
    for (auto* node : {&root, &leaf})
      if (!node->node->grant(test::grant())) throw std::runtime_error("grant");
    tree.set_parent(leaf, root);
    for (const auto& versions : client_versions)
      clients.push_back(&tree.add_client(leaf, static_cast<std::uint32_t>(clients.size()), Secret{}, versions));
    // One more at the root, so that the group spans both nodes.
    clients.push_back(&tree.add_client(root, static_cast<std::uint32_t>(clients.size())));
    tree.run();
  }
  void make_group() {
    const auto size = static_cast<std::uint32_t>(clients.size());
    clients[0]->client->open(1, size, tree.now);
    tree.run();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      ClientGroupConfig config{.job_id = kJob,
                               .tree_id = kTree,
                               .group_id = clients[0]->client->open_outcome(1).group_id,
                               .rank = rank,
                               .world_rank = rank,
                               .group_size = size,
                               .osts = 8,
                               .payload_max = 128};
      if (rank + 1 < size) config.path.entries[config.path.length++] = {101, size - 1};
      config.path.entries[config.path.length++] = {100, size};
      groups.push_back(ClientGroup::make(config, *clients[rank], clients[rank]->up).value());
      clients[rank]->client->attach(*groups.back());
      groups.back()->start(tree.now);
    }
    tree.run();
  }
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

  TestTree tree;
  TestTree::End &root, &leaf;
  std::vector<TestTree::End*> clients;
  std::vector<std::unique_ptr<ClientGroup>> groups;
};

TEST(Version, old_and_new_work_together_without_what_the_old_lack) {
  const struct {
    const char* name;
    VersionRange root, leaf, first, second;
    bool reproducible;
  } rows[] = {
      {"all new", {1, 2}, {1, 2}, {1, 2}, {1, 2}, true},
      {"an old client at a new node", {1, 2}, {1, 2}, {1, 2}, {1, 1}, false},
      {"new clients at an old node", {1, 2}, {1, 1}, {1, 2}, {1, 2}, false},
      {"a new leaf below an old root", {1, 1}, {1, 2}, {1, 2}, {1, 2}, false},
      {"an old leaf with old clients below a new root", {1, 2}, {1, 1}, {1, 1}, {1, 1}, false},
      {"a client that speaks what is to come", {1, 2}, {1, 2}, {2, 7}, {1, 2}, true},
      {"a node that no longer speaks version 1, with new clients", {1, 2}, {2, 3}, {1, 2}, {2, 2}, true},
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
    }
    EXPECT_EQ(world.sum_of_ones(false), Errc::ok);
    EXPECT_EQ(world.sum_of_ones(true), row.reproducible ? Errc::ok : Errc::unsupported);
    EXPECT_THAT(world.root.drops, IsEmpty());
    EXPECT_THAT(world.leaf.drops, IsEmpty());
  }
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
  Mixed world({4, 5}, {1, 2}, {});
  ASSERT_EQ(world.root.drops.size(), 1u + 1u) << "the node, and the client at the root, which speaks 1 to 3 as well";
  EXPECT_THAT(world.root.drops[0], HasSubstr("node 101 speaks 1 to 2, this node 4 to 5"));
  ASSERT_EQ(world.leaf.drops.size(), 1u);
  EXPECT_THAT(world.leaf.drops[0],
              HasSubstr("the parent refuses this node: no wire version in common: node 100 speaks 4 "
                        "to 5, this side 1 to 2"));
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
