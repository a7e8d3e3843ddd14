#include "client/job.hpp"

#include <gtest/gtest.h>

#include "client/test_grant.hpp"
#include "proto/test_nodes.hpp"

namespace sumac::client {
namespace {

const JobSettings kSettings{.sat_threshold = 16384, .enable_sat = 1, .lock_batch = 7};
const std::vector<std::uint32_t> kRankHost{0, 0, 1};
const std::vector<std::string> kHosts{"a", "bb"};

std::vector<std::byte> encoded(const test::Answer& answer) {
  return encode_job(answer.job_id, kSettings, kHosts, answer.messages(), kRankHost);
}

TEST(Job, TravelsWhole) {
  const auto job = decode_job(encoded({}));
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_EQ(job->id, JobId{42});
  EXPECT_EQ(job->granted.quota.payload_per_ost, 128u);
  EXPECT_EQ(job->settings.enable_sat, 1u);
  EXPECT_EQ(job->settings.sat_threshold, 16384u);
  EXPECT_EQ(job->settings.lock_batch, 7u);
  EXPECT_EQ(job->hosts, 2u);
  EXPECT_EQ(job->host_names, kHosts);
  ASSERT_EQ(job->trees.size(), 2u);
  const auto &first = job->trees[0], &second = job->trees[1];
  EXPECT_EQ(job->leaf_of(first, WorldRank{1}), NodeId{2});
  EXPECT_EQ(job->leaf_of(first, WorldRank{2}), NodeId{1});
  ASSERT_NE(first.address_of(NodeId{2}), nullptr);
  EXPECT_EQ(*first.address_of(NodeId{2}), "tcp:10.0.0.2:7000");
  EXPECT_EQ(*first.name_of(NodeId{1}), "an-root");
  EXPECT_EQ(first.address_of(NodeId{9}), nullptr);
  EXPECT_EQ(second.body.tree_id, TreeId{6});
  EXPECT_EQ(second.body.rate_bits_per_s, 12'500'000'000u);
  EXPECT_EQ(*second.address_of(NodeId{2}), "tcp:10.0.0.2:7001") << "a node has an address for each tree";
  EXPECT_EQ(first.connections(), 2u) << "to the leaf, and from there to the root";
  EXPECT_EQ(second.connections(), 1u);
}

TEST(Job, AnAnswerThatIsNotWholeOrARankOnNoHostIsRefused) {
  const test::Answer answer;
  auto messages = answer.messages();
  EXPECT_EQ(decode_job(encode_job(JobId{42}, {}, kHosts, messages, std::vector<std::uint32_t>{0, 2})).error().status,
            SHARP_COLL_ETREE_INFO);
  EXPECT_EQ(decode_job(encode_job(JobId{43}, {}, kHosts, messages, kRankHost)).error().status, SHARP_COLL_ETREE_INFO)
      << "the answer to another job";
  std::swap(messages[2], messages[3]);
  EXPECT_EQ(decode_job(encode_job(JobId{42}, {}, kHosts, messages, kRankHost)).error().status, SHARP_COLL_ETREE_INFO);
  messages = answer.messages();
  messages.pop_back();
  EXPECT_EQ(decode_job(encode_job(JobId{42}, {}, kHosts, messages, kRankHost)).error().status, SHARP_COLL_ENOTREE);
  EXPECT_EQ(decode_job(encode_job(JobId{42}, {}, kHosts, {}, kRankHost)).error().status, SHARP_COLL_ENOTREE);
  messages = answer.messages();
  const std::vector<std::string> three(3, "host");
  EXPECT_EQ(decode_job(encode_job(JobId{42}, {}, three, messages, kRankHost)).error().status, SHARP_COLL_ETREE_INFO)
      << "the answer is for two hosts";
}

TEST(Job, TheDeepestNodeSaysHowManyConnectionsAreOnTheWay) {
  using proto::test::parents;
  const struct {
    const char* name;
    std::vector<proto::NodeParent> nodes;
    std::uint32_t connections;
  } rows[] = {
      {"one node", parents({{1, 1}}), 1},
      {"leaves below a root", parents({{2, 1}, {3, 1}, {1, 1}}), 2},
      {"one way is longer than the other", parents({{1, 1}, {2, 1}, {3, 1}, {4, 3}}), 3},
      {"a parent that nobody knows", parents({{1, 1}, {2, 9}}), 1},
      {"in a circle: as many as a path may have", parents({{1, 2}, {2, 1}}), wire::kPathMax},
  };
  for (const auto& row : rows) {
    JobTree tree;
    tree.nodes = row.nodes;
    EXPECT_EQ(tree.connections(), row.connections) << row.name;
  }
}

TEST(Job, AnyCutIsNoticed) {
  const auto bytes = encoded({});
  // The last 12 bytes are the hosts of three ranks: whether a rank is missing is found when a rank looks for its leaf.
  for (std::size_t n = 0; n + 12 < bytes.size(); ++n)
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
    std::uint32_t osts, groups, request, expected;
  } rows[] = {{128, 8, 0, 16}, {51, 51, 0, 2}, {51, 0, 0, 51}, {1, 1, 0, 1}, {128, 8, 8, 8}, {128, 8, 500, 128}};
  for (const auto& row : rows) {
    Job job;
    job.granted.quota.osts = row.osts;
    job.granted.quota.max_groups = row.groups;
    job.settings.osts_per_group = row.request;
    EXPECT_EQ(job.group_osts(), row.expected) << row.osts << " " << row.groups << " " << row.request;
  }
}

}  // namespace
}  // namespace sumac::client
