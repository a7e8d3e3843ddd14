// A communicator with several groups, through real daemons: large operations are striped over the groups, small ones
// use them in rotation, requests complete in the order of posting, and the end of one group is the end of all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <vector>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// Adds up `count` numbers and checks the sums.
void add_up(Rank& rank, sharp_coll_comm* comm, std::size_t count) {
  std::vector<std::int32_t> in(count), out(count, -1);
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::int32_t>(i * 3) + rank.rank;
  auto spec = reduce_spec(in.data(), out.data(), count, Dtype::int32, Op::sum);
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  const int ranks = rank.size;
  for (std::size_t i = 0; i < count; ++i)
    RANK_EQUAL(out[i], ranks * static_cast<std::int32_t>(i * 3) + ranks * (ranks - 1) / 2);
}

TEST_F(World, ACommunicatorOfThreeGroupsSaysSoAndAddsUpEverySize) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 3);
  config.environment = {{"SHARP_COLL_GROUPS_PER_COMM", "3"},
                        {"SHARP_COLL_JOB_NUM_TREES", "1"},
                        {"SHARP_COLL_ENABLE_SAT", "1"},
                        {"SHARP_COLL_LOG_LEVEL", "3"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto info = info_of(comm);
    RANK_EQUAL(info.groups, 3u);
    for (const std::size_t count : {0, 1, 31, 32, 33, 64, 95, 96, 97, 1000, 4095, 4096, 16385, 70'000, 1'000'003})
      add_up(rank, comm, count);
    for (int i = 0; i < 10; ++i) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    auto* again = rank.comm(context);  // The ids are free again.
    add_up(rank, again, 1000);
    RANK_EQUAL(sharp_coll_comm_destroy(again), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  for (const auto* line : {"[group#:0] group id: ", "[group#:1] group id: ", "[group#:2] group id: "})
    EXPECT_EQ(times(ended[0].err, line), 2u) << ended[0].err;
}

// If the rate of a node's link is known, striping pays for less than a chunk: one fragment before it is cut, several
// after. Whether to cork was once decided twice, before and after the cut, and then no message was ever sent again.
TEST(SlowNodes, WhatIsStripedThoughItFitsIntoOneChunkIsSentAndSoIsWhatFollows) {
  auto shape = kTwoLeaves;
  shape.link_rate = "60Mbit/s";
  const Daemons daemons(shape);
  const auto job = new_job_id();
  auto config = on(daemons, 2);
  config.environment = {
      {"SHARP_COLL_GROUPS_PER_COMM", "2"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}, {"SHARP_COLL_ENABLE_SAT", "1"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (const std::size_t count : {5000, 5000, 16'384, 1, 20'000, 5000}) add_up(rank, comm, count);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
}

TEST_F(World, RequestsOnSeveralGroupsCompleteInTheOrderOfPosting) {
  const auto job = new_job_id();
  expect_well(3,
              [&](Rank& rank) {
                auto* context = rank.init(job);
                auto* comm = rank.comm(context);
                // There are large requests between small ones: small ones posted later finish in their own group long
                // before.
                constexpr std::size_t kRequests = 60, kLarge = 20'000;
                std::vector<std::vector<std::int32_t>> in(kRequests), out(kRequests);
                std::vector<void*> handles(kRequests);
                for (std::size_t i = 0; i < kRequests; ++i) {
                  in[i].assign(i % 10 == 0 ? kLarge : 1, static_cast<std::int32_t>(i) + rank.rank);
                  out[i].resize(in[i].size());
                  auto spec = reduce_spec(in[i].data(), out[i].data(), in[i].size(), Dtype::int32, Op::sum);
                  RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handles[i]), 0);
                }
                std::size_t complete = 0;
                while (complete < kRequests) {
                  RANK_EQUAL(sharp_coll_progress(context), 0);
                  // Checked from the last to the first, so that an earlier request that completes between two polls
                  // cannot be seen pending.
                  bool later_is_complete = false;
                  for (std::size_t i = kRequests; i > complete; --i) {
                    const bool is_complete = sumac_req_status(handles[i - 1], nullptr, 0) == 1;
                    RANK_CHECK(is_complete || !later_is_complete);
                    later_is_complete = is_complete;
                  }
                  while (complete < kRequests && sumac_req_status(handles[complete], nullptr, 0) == 1) ++complete;
                }
                for (std::size_t i = 0; i < kRequests; ++i) {
                  RANK_EQUAL(out[i].back(), 3 * static_cast<std::int32_t>(i) + 3);
                  RANK_EQUAL(sharp_coll_req_free(handles[i]), 0);
                }
                RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                RANK_EQUAL(sharp_coll_finalize(context), 0);
              },
              {{"SHARP_COLL_GROUPS_PER_COMM", "2"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}});
}

TEST_F(World, CountsThatDifferEndEveryGroupOfACommunicatorAndNobodyWaits) {
  const auto job = new_job_id();
  // 30 and 40 differ in whether they are striped at all, 1000 and 1001 only in the last stripe, 0 and 100 in
  // everything.
  for (const auto& [usual, different] : {std::pair<std::size_t, std::size_t>{40, 30}, {1000, 1001}, {100, 0}}) {
    const auto ended = run_ranks(
        [&] {
          auto config = on(*daemons_, 3);
          config.environment = {{"SHARP_COLL_GROUPS_PER_COMM", "2"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}};
          return config;
        }(),
        [&, usual = usual, different = different](Rank& rank) {
          auto* context = rank.init(job + usual);
          auto* comm = rank.comm(context);
          const std::size_t count = rank.rank == 2 ? different : usual;
          std::vector<std::int32_t> in(count, 1), out(count);
          auto spec = reduce_spec(in.data(), out.data(), count, Dtype::int32, Op::sum);
          RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ERROR);
          char text[256];
          RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
          RANK_CHECK(std::strstr(text, "differs") != nullptr);
          RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
          RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
          auto* other = rank.comm(context);  // The job lives on, and nothing of the group remains.
          add_up(rank, other, 500);
          RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
          RANK_EQUAL(sharp_coll_finalize(context), 0);
        });
    EXPECT_EQ(complaint(ended), "") << usual << " and " << different << "\n" << daemons_->log();
  }
}

TEST_F(World, AGroupThatEndsBetweenOperationsEndsTheOthersToo) {
  const auto job = new_job_id();
  expect_well(3,
              [&](Rank& rank) {
                auto* context = rank.init(job);
                auto* comm = rank.comm(context);
                // The first operation goes to group 0 and fails there; the next ones go to both in rotation: they are
                // posted before any member knows, or refused.
                std::int32_t in[2] = {1, 1}, out[2] = {};
                std::vector<void*> handles;
                auto spec = reduce_spec(in, out, rank.rank == 1 ? 1 : 2, Dtype::int32, Op::sum);
                void* first = nullptr;
                RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &first), 0);
                for (int i = 0; i < 5; ++i) {
                  void* handle = nullptr;
                  const int posted = sharp_coll_do_barrier_nb(comm, &handle);
                  RANK_CHECK(posted == 0 || posted == SHARP_COLL_ERROR);
                  if (posted == 0) handles.push_back(handle);
                  RANK_EQUAL(sharp_coll_progress(context), 0);
                }
                RANK_EQUAL(sharp_coll_req_wait(first), SHARP_COLL_ERROR);
                for (void* handle : handles) {
                  const int status = sharp_coll_req_wait(handle);
                  RANK_CHECK(status == 0 || status == SHARP_COLL_ERROR);
                }
                RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
                RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                RANK_EQUAL(sharp_coll_finalize(context), 0);
              },
              {{"SHARP_COLL_GROUPS_PER_COMM", "2"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}});
}

TEST_F(World, WhereATreeHasFewerGroupsLeftThanWantedACommunicatorMakesDo) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {
      {"SHARP_COLL_GROUPS_PER_COMM", "2"}, {"SHARP_COLL_JOB_NUM_TREES", "1"}, {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "3"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* two = rank.comm(context);
    auto* one = rank.comm(context);
    const auto info = info_of(one);
    RANK_EQUAL(info.groups, 1u);
    add_up(rank, two, 3000);
    add_up(rank, one, 3000);
    sharp_coll_comm* none = nullptr;
    RANK_EQUAL(rank.try_comm(context, none), SHARP_COLL_EGROUP_ALLOC);
    RANK_EQUAL(sharp_coll_comm_destroy(two), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(one), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("a communicator has 1 groups instead of 2: "));
}

/// Returns the lines of rank 0 for a job of four ranks on two hosts, where two ranks of each host are members of the
/// group.
std::string lines_of_two_hosts(const Daemons& daemons, int channels, const std::string& groups) {
  const auto job = new_job_id();
  auto config = on(daemons, 2 * channels);
  config.sockets.resize(2);
  config.environment = {
      {"SHARP_COLL_LOG_LEVEL", "3"}, {"SHARP_COLL_GROUPS_PER_COMM", groups}, {"SHARP_COLL_JOB_NUM_TREES", "1"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.group_channel_idx = rank.rank / 2;  // Ranks alternate between the hosts.
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    auto* comm = rank.comm(context);
    for (const std::size_t count : {1, 20, 1000, 30'000}) add_up(rank, comm, count);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  return ended[0].err;
}

TEST_F(World, OneChannelAndTwoChannelsOnOnePortSayWhatTheyAre) {
  const auto one = lines_of_two_hosts(*daemons_, 1, "1");
  EXPECT_THAT(one, HasSubstr("max_qps:1 max_group_channels:1, num_trees:1)"));
  EXPECT_THAT(one, testing::ContainsRegex("tree_info: tree idx:0 quota: .* max_qps:1 max_group_channels:1\\)"));
  EXPECT_THAT(one, testing::ContainsRegex("\\[group#:0\\] group id: [0-9a-f]+ tree idx:0 rail_idx:0 group size:2 "));
  const auto two = lines_of_two_hosts(*daemons_, 2, "1");
  EXPECT_THAT(two, HasSubstr("max_qps:2 max_group_channels:2, num_trees:1)"));
  EXPECT_THAT(two, testing::ContainsRegex("tree_info: tree idx:0 quota: .* max_qps:2 max_group_channels:2\\)"));
  EXPECT_THAT(two, testing::ContainsRegex("\\[group#:0\\] group id: [0-9a-f]+ tree idx:0 rail_idx:0 group size:4 "));
  EXPECT_EQ(times(two, "[group#:"), 1u);
}

TEST(Channels, MoreThanAJobMayHaveAreRefusedWithTheLimitAndItsVariable) {
  const Daemons daemons({.hosts_per_leaf = 2, .environment = {{"SUMAC_AM_MAX_GROUP_CHANNELS", "1"}}});
  const auto job = new_job_id();
  auto config = on(daemons, 4);
  config.sockets.resize(2);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.group_channel_idx = rank.rank / 2;
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), SHARP_COLL_EJOB_CREATE);
    spec.group_channel_idx = 0;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  EXPECT_THAT(ended[0].err, HasSubstr("2 channels asked (members of a group on one host), a job may have 1: "));
  EXPECT_THAT(ended[0].err, HasSubstr("SUMAC_AM_MAX_GROUP_CHANNELS"));
}

TEST_F(World, ANodeOnTheHostItselfIsReachedWhateverPortsAreNamed) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_IB_DEV_LIST", "lo:1"}, {"SHARP_COLL_LOG_LEVEL", "3"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    char list[] = "nosuch0:1";  // The user's list has precedence over the program's.
    spec.config.ib_dev_list = list;
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    std::memset(list, 'x', sizeof list - 1);
    auto* comm = rank.comm(context);
    add_up(rank, comm, 1000);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, testing::ContainsRegex("tree idx:0 rail_idx:0 group size:2 "));
}

TEST_F(World, TheResourcePolicySaysHowManyOstsAGroupHas) {
  const struct {
    const char *policy, *percent;
    unsigned osts;
  } rows[] = {{"1", "0", 8}, {"1", "50", 8},   {"2", "50", 16}, {"2", "1", 1},
              {"2", "0", 8}, {"2", "100", 32}, {"0", "0", 32}};
  for (const auto& row : rows) {
    SCOPED_TRACE(std::string(row.policy) + ", " + row.percent);
    const auto job = new_job_id();
    expect_well(2,
                [&](Rank& rank) {
                  auto* context = rank.init(job);
                  auto* comm = rank.comm(context);
                  const auto info = info_of(comm);
                  RANK_EQUAL(info.osts, row.osts);
                  RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
                  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                  RANK_EQUAL(sharp_coll_finalize(context), 0);
                },
                {{"SHARP_COLL_JOB_QUOTA_OSTS", "32"},
                 {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "4"},
                 {"SHARP_COLL_GROUP_RESOURCE_POLICY", row.policy},
                 {"SHARP_COLL_USER_GROUP_QUOTA_PERCENT", row.percent}});
  }
}

}  // namespace
}  // namespace sumac::client::test
