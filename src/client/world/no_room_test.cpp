// A communicator for which the job's grant has no group or no OST left: its members all hear of it, and the caller goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

TEST_F(World, NoGroupLeftIsSaidToAllMembersAndDestroyMakesRoom) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* one = rank.comm(context);
    auto* two = rank.comm(context);
    sharp_coll_comm* three = nullptr;
    RANK_EQUAL(rank.try_comm(context, three), SHARP_COLL_EGROUP_ALLOC);
    RANK_EQUAL(sharp_coll_comm_destroy(one), 0);
    RANK_EQUAL(rank.try_comm(context, three), 0);
    RANK_EQUAL(sharp_coll_do_barrier(three), 0);
    RANK_EQUAL(sharp_coll_do_barrier(two), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(two), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(three), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "2"}, {"SUMAC_DEFAULTS", "2018"}};
  const auto ended = run_ranks(config, body);
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("No available groups(-11)"));
  EXPECT_THAT(ended[0].err, HasSubstr(" unique id 0] WARN No available groups in sharp_alloc_groups_info.\n"));
  EXPECT_EQ(ended[1].err, "") << "one rank speaks for all";
}

/// The caller goes on without the tree: that is no error, and one line is enough for all communicators that follow.
TEST_F(World, NoOstLeftIsAWarningOnce) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* one = rank.comm(context);
    sharp_coll_comm* none = nullptr;
    for (int more = 0; more < 3; ++more) RANK_EQUAL(rank.try_comm(context, none), SHARP_COLL_EGROUP_JOIN);
    RANK_EQUAL(sharp_coll_do_barrier(one), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(one), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_JOB_QUOTA_OSTS", "2"}, {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "8"}};
  const auto ended = run_ranks(config, body);
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err,
              testing::ContainsRegex("WARN rank 0 .*: no OST left at node .*: the job was granted 2; destroy a "
                                     "communicator, or ask for more with SHARP_COLL_JOB_QUOTA_OSTS"));
  EXPECT_EQ(std::ranges::count(ended[0].err, '\n'), 1) << ended[0].err;
  EXPECT_EQ(ended[1].err, "") << "one rank speaks for all";
}

}  // namespace
}  // namespace sumac::client::test
