#include "client/job.hpp"

#include <gtest/gtest.h>

namespace sumac::client {
namespace {

Job sample() {
  Job job;
  job.id = 0x1122334455667788;
  job.grant.grant = {128, 1024, 8, 2, 1, 1};
  job.grant.stream_window = 16;
  job.enable_sat = true;
  job.sat_threshold = 16384;
  job.fabric = {25'000'000'000, 2, 1, 1};
  JobTree tree;
  tree.id = 3;
  tree.root_node = 1;
  tree.nodes = {{1, 1}, {2, 1}};
  tree.node_name = {"root", "leaf"};
  tree.node_address = {"tcp:10.0.0.1:7", "tcp:10.0.0.2:7"};
  tree.rank_leaf = {2, 2, 1};
  job.trees.push_back(tree);
  tree.id = 4;
  tree.index = 1;
  tree.root_node = 2;
  tree.rate_bits_per_s = 12'500'000'000;
  tree.delay_ns = 1'500;
  tree.member_nodes = 1;
  tree.nodes = {{2, 2}};
  tree.node_name = {"leaf"};
  tree.node_address = {"tcp:10.0.0.2:8"};
  tree.rank_leaf = {2, 2, 2};
  job.trees.push_back(tree);
  return job;
}

TEST(Job, TravelsWhole) {
  const Job job = sample();
  const auto back = decode_job(encode_job(job));
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(back->id, job.id);
  EXPECT_EQ(back->grant.grant.payload_per_ost, 1024u);
  EXPECT_TRUE(back->enable_sat);
  EXPECT_EQ(back->sat_threshold, 16384u);
  EXPECT_EQ(back->fabric.host_rate_bits_per_s, 25'000'000'000u);
  EXPECT_EQ(back->fabric.hosts, 2u);
  EXPECT_EQ(back->fabric.rails, 1u);
  EXPECT_EQ(back->fabric.nodes_on_member_hosts, 1u);
  ASSERT_EQ(back->trees.size(), 2u);
  const auto &first = back->trees[0], &second = back->trees[1];
  EXPECT_EQ(first.rank_leaf, job.trees[0].rank_leaf);
  ASSERT_NE(first.address_of(2), nullptr);
  EXPECT_EQ(*first.address_of(2), "tcp:10.0.0.2:7");
  EXPECT_EQ(*first.name_of(1), "root");
  EXPECT_EQ(first.address_of(9), nullptr);
  EXPECT_EQ(second.id, 4u);
  EXPECT_EQ(second.index, 1u);
  EXPECT_EQ(second.root_node, 2u);
  EXPECT_EQ(second.rate_bits_per_s, 12'500'000'000u);
  EXPECT_EQ(second.delay_ns, 1'500u);
  EXPECT_EQ(second.member_nodes, 1u);
  EXPECT_EQ(*second.address_of(2), "tcp:10.0.0.2:8") << "a node has an address for each tree";
  EXPECT_EQ(first.connections(), 2u) << "to the leaf, and from there to the root";
  EXPECT_EQ(second.connections(), 1u);
}

TEST(Job, AJobWithoutTreesOrWithTreesOfDifferentRanksIsRefused) {
  auto job = sample();
  job.trees[1].rank_leaf.pop_back();
  EXPECT_EQ(decode_job(encode_job(job)).error().status, SHARP_COLL_ETREE_INFO);
  job.trees.clear();
  EXPECT_EQ(decode_job(encode_job(job)).error().status, SHARP_COLL_ENOTREE);
}

TEST(Job, TheDeepestNodeSaysHowManyConnectionsAreOnTheWay) {
  const struct {
    const char* name;
    std::vector<proto::NodeParent> nodes;
    std::uint32_t connections;
  } rows[] = {
      {"one node", {{1, 1}}, 1},
      {"leaves below a root", {{2, 1}, {3, 1}, {1, 1}}, 2},
      {"one way is longer than the other", {{1, 1}, {2, 1}, {3, 1}, {4, 3}}, 3},
      {"a parent that nobody knows", {{1, 1}, {2, 9}}, 1},
      {"in a circle: as many as a path may have", {{1, 2}, {2, 1}}, wire::kPathMax},
  };
  for (const auto& row : rows) {
    JobTree tree;
    tree.nodes = row.nodes;
    EXPECT_EQ(tree.connections(), row.connections) << row.name;
  }
}

TEST(Job, AnyCutIsNoticed) {
  const auto bytes = encode_job(sample());
  for (std::size_t n = 0; n < bytes.size(); ++n)
    ASSERT_FALSE(decode_job(std::span(bytes).first(n))) << n << " of " << bytes.size();
  auto longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(decode_job(longer));
  auto other = bytes;
  other[0] ^= std::byte{1};
  EXPECT_EQ(decode_job(other).error().status, SHARP_COLL_ETREE_INFO);
}

TEST(Job, OstsOfAGroupAreItsShareAtLeastTwo) {
  const struct {
    std::uint32_t osts, groups, wish, expected;
  } rows[] = {{128, 8, 0, 16}, {51, 51, 0, 2}, {51, 0, 0, 51}, {1, 1, 0, 1}, {128, 8, 8, 8}, {128, 8, 500, 128}};
  for (const auto& row : rows) {
    Job job;
    job.grant.grant.osts = row.osts;
    job.grant.grant.max_groups = row.groups;
    job.osts_per_group = row.wish;
    EXPECT_EQ(job.group_osts(), row.expected) << row.osts << " " << row.groups << " " << row.wish;
  }
}

}  // namespace
}  // namespace sumac::client
