#include "client/job.hpp"

#include <gtest/gtest.h>

namespace sumac::client {
namespace {

Job sample() {
  Job job;
  job.id = 0x1122334455667788;
  job.grant.grant = {128, 1024, 8, 2, 1, 1};
  job.grant.tree_id = 3;
  job.grant.stream_window = 16;
  job.enable_sat = true;
  job.sat_threshold = 16384;
  job.tree = {{1, 1}, {2, 1}};
  job.node_name = {"root", "leaf"};
  job.node_address = {"tcp:10.0.0.1:7", "tcp:10.0.0.2:7"};
  job.rank_leaf = {2, 2, 1};
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
  EXPECT_EQ(back->rank_leaf, job.rank_leaf);
  ASSERT_NE(back->address_of(2), nullptr);
  EXPECT_EQ(*back->address_of(2), "tcp:10.0.0.2:7");
  EXPECT_EQ(*back->name_of(1), "root");
  EXPECT_EQ(back->address_of(9), nullptr);
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
