#include "manager/quota.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::manager {
namespace {

TEST(Quota, what_a_job_gets) {
  const struct {
    const char* name;
    Usage used;
    wire::Quota asked;
    std::uint32_t osts, groups, payload, window;
  } rows[] = {
      {"no request on an idle tree: ten percent", {}, {}, 51, 51, 1024, 0},
      {"the request of the demo on an idle tree", {}, {128, 1024, 8, 0, 0, 0, 0, 0, kFeatureSat}, 128, 8, 1024, 16},
      {"everything", {}, {512, 128, 512}, 512, 512, 128, 0},
      {"the last ones", {500, 511}, {12, 0, 1}, 12, 1, 1024, 0},
      {"the smallest request", {}, {1, 0, 1, 1, 1, 1}, 1, 1, 1024, 0},
      {"the tenth default job", {459, 459}, {}, 51, 51, 1024, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto grant = allocate({}, {}, row.used, row.asked);
    ASSERT_TRUE(grant) << grant.error().context;
    EXPECT_EQ(grant->osts, row.osts);
    EXPECT_EQ(grant->max_groups, row.groups);
    EXPECT_EQ(grant->payload_per_ost, row.payload);
    EXPECT_EQ(grant->stream_window, row.window);
    EXPECT_EQ(grant->chunk_bytes, row.window != 0 ? 65536u : 0u);
    EXPECT_EQ(grant->num_trees, 1u);
  }
}

TEST(Quota, what_is_granted_of_the_features_asked) {
  const struct {
    std::uint64_t asked, granted;
  } rows[] = {{0, kFeatureLlt},
              {kFeatureSat, kFeatureLlt | kFeatureSat},
              {kFeatureReproducible, kFeatureLlt | kFeatureReproducible},
              {kFeatureSatExclusiveLock | 1u << 20, kFeatureLlt}};
  for (const auto& row : rows) {
    const auto grant = allocate({}, {}, {}, {.features = row.asked});
    ASSERT_TRUE(grant) << grant.error().context;
    EXPECT_EQ(grant->features, row.granted) << row.asked;
  }
}

TEST(Quota, a_manager_without_streaming_grants_the_rest) {
  const QuotaRules rules{.stream_window = 0};
  const auto grant = allocate(rules, {}, {}, {.features = kFeatureSat | kFeatureReproducible});
  ASSERT_TRUE(grant) << grant.error().context;
  EXPECT_EQ(grant->features, kFeatureLlt | kFeatureReproducible);
  EXPECT_EQ(grant->stream_window, 0u);
  EXPECT_EQ(grant->chunk_bytes, 0u);
  EXPECT_EQ(grant->osts, 51u);
}

TEST(Quota, a_refusal_says_what_was_short_and_what_to_change) {
  const struct {
    const char* name;
    Usage used;
    wire::Quota asked;
    Errc code;
    const char* says;
  } rows[] = {
      {"more than a node has",
       {},
       {513},
       Errc::invalid,
       "513 OSTs asked, a node has 512: lower SHARP_COLL_JOB_QUOTA_OSTS, or raise SUMAC_NODE_OST_COUNT"},
      {"one more than is free",
       {500, 0},
       {13},
       Errc::exhausted,
       "13 OSTs asked, 12 of 512 are free: set SHARP_COLL_JOB_QUOTA_OSTS to 12 or less"},
      {"the eleventh default job",
       {510, 510},
       {},
       Errc::exhausted,
       "51 OSTs asked (SUMAC_AM_DEFAULT_QUOTA_PERCENT of sharp_am is 10), 2 of 512 are free"},
      {"nothing left", {512, 0}, {1}, Errc::exhausted, "all 512 are held by other jobs"},
      {"no group left", {0, 512}, {1, 0, 1}, Errc::exhausted, "1 groups asked, all 512"},
      {"too many groups", {}, {1, 0, 600}, Errc::invalid, "SHARP_COLL_JOB_QUOTA_MAX_GROUPS"},
      {"a payload below the least",
       {},
       {1, 127, 1},
       Errc::invalid,
       "SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST must be 0 or 128 to 1024"},
      {"a payload above the most", {}, {1, 1025, 1}, Errc::invalid, "1025 bytes asked"},
      {"a request near the end of its type", {1, 1}, {0xFFFFFFFFu}, Errc::invalid, "a node has 512"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto grant = allocate({}, {}, row.used, row.asked);
    ASSERT_FALSE(grant);
    EXPECT_EQ(grant.error().code, row.code);
    EXPECT_THAT(grant.error().context, testing::HasSubstr(row.says));
  }
}

TEST(Quota, channels_are_given_as_asked_up_to_the_limit) {
  QuotaRules rules;
  for (const auto asked : {1u, 2u, 64u})
    EXPECT_EQ(allocate(rules, {}, {}, {1, 0, 1, 0, asked})->max_group_channels, asked);
  rules.group_channels_max = 2;
  EXPECT_EQ(allocate(rules, {}, {}, {1, 0, 1, 0, 2})->max_group_channels, 2u);
  const auto refused = allocate(rules, {}, {}, {1, 0, 1, 0, 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context,
            "3 channels asked (members of a group on one host), a job may have 2: leave basesmuma in HCOLL_SBGP, so "
            "that a host has one leader, or raise SUMAC_AM_MAX_GROUP_CHANNELS at sharp_am");
}

TEST(Quota, a_weak_node_bounds_everybody) {
  const auto grant = allocate({}, {.osts = 5, .groups = 3, .payload_max = 100}, {}, {});
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->osts, 1u) << "at least one";
  EXPECT_EQ(grant->max_groups, 1u);
  EXPECT_EQ(grant->payload_per_ost, 100u);
}

}  // namespace
}  // namespace sumac::manager
