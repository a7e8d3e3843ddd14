#include "rank/tally.h"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string printed(const sumac_tally& sum, std::uint64_t job_id, bool tree_wanted, const char* next) {
  testing::internal::CaptureStderr();
  sumac_tally_print(&sum, job_id, tree_wanted, next);
  return testing::internal::GetCapturedStderr();
}

TEST(Tally, a_job_without_calls_says_whether_it_has_a_tree) {
  const sumac_tally none{};
  EXPECT_EQ(printed(none, 0, false, "MPI"), "sumac: collectives: no collective was called\n");
  EXPECT_EQ(printed(none, 0, true, "MPI"), "sumac: without a tree: no collective was called\n");
  EXPECT_EQ(printed(none, 7, true, "MPI"), "sumac: job 7: tree 0\n");
}

TEST(Tally, each_way_has_a_part_and_calls_passed_on_have_their_reasons) {
  sumac_tally sum{};
  sum.teams.calls[SUMAC_COLL_BARRIER][SUMAC_WAY_TREE] = 52;
  sum.teams.calls[SUMAC_COLL_ALLREDUCE][SUMAC_WAY_TREE] = 4;
  sum.teams.hop[SUMAC_COLL_BARRIER] = 50;
  sum.teams.hop[SUMAC_COLL_ALLREDUCE] = 3;
  sum.teams.calls[SUMAC_COLL_BCAST][SUMAC_WAY_HOST] = 30;
  sum.teams.calls[SUMAC_COLL_BCAST][SUMAC_WAY_LEADERS] = 2;
  sum.teams.calls[SUMAC_COLL_BCAST][SUMAC_WAY_PASS] = 13;
  sum.teams.left[SUMAC_LEFT_SIZE] = 9;
  sum.teams.left[SUMAC_LEFT_TYPE] = 4;
  std::uint64_t passed[SUMAC_COLLS][SUMAC_WHYS] = {};
  passed[SUMAC_COLL_ALLREDUCE][SUMAC_WHY_FUNCTION] = 1;
  passed[SUMAC_COLL_ALLREDUCE][SUMAC_WHY_NO_TEAM] = 1;
  passed[SUMAC_COLL_BARRIER][SUMAC_WHY_SPARED] = 4;
  passed[SUMAC_COLL_ALLREDUCE][SUMAC_WHY_EARLY] = 2;
  passed[SUMAC_COLL_BCAST][SUMAC_WHY_ORDER] = 3;
  sumac_tally_add_passed(&sum, passed);
  sumac_tally_add_passed(&sum, passed);
  sum.no_group = 1;
  sum.teams.closed = 5;
  const std::string ways =
      "sumac: job 9: tree 56 (barrier 52, allreduce 4: hop 53, barrier 50, allreduce 3); shared memory 30 "
      "(bcast 30); "
      "shared memory and leaders 2 (bcast 2); ";
  const std::string why =
      " 25 (barrier 8, allreduce 4, bcast 13: 9 too large, 4 of a type or operation that the tree lacks, 2 with a "
      "user's operation or type, "
      "2 without a team, 8 before their communicator was worth a team); nonblocking before there was a team 4; "
      "persistent ones made by the ";
  const std::string rest =
      " 6; communicators without a group of the tree 1 (SHARP_COLL_JOB_QUOTA_MAX_GROUPS asks for "
      "more); memory closed to single copy 5\n";
  for (const char* next : {"next module", "MPI"})
    EXPECT_EQ(printed(sum, 9, true, next), ways + next + why + next + rest);
}

TEST(Tally, a_communicator_without_a_team_adds_nothing) {
  sumac_tally sum{};
  sumac_tally_add_team(&sum, nullptr, 0);
  EXPECT_EQ(printed(sum, 0, false, "MPI"), "sumac: collectives: no collective was called\n");
}

}  // namespace
