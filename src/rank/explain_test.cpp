#include "rank/explain.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

TEST(Explain, AReasonForHavingNoTeamIsPrintedOnceAndThenCounted) {
  ::setenv("SUMAC_EXPLAIN", "1", 1);
  sumac_team_options_t* options = nullptr;
  char why[512] = "";
  ASSERT_EQ(sumac_team_options_read(&options, why, sizeof why), SUMAC_TEAM_OK) << why;
  ::unsetenv("SUMAC_EXPLAIN");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 19; ++i) sumac_explain_none(options, i == 0 ? "ALONE" : "", 1, "nobody to talk to");
  sumac_explain_none(options, "", 4, "it is an intercommunicator");
  sumac_explain_end(options, "MPI");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sumac: communicator ALONE: 1 rank: no team: nobody to talk to\n"
            "sumac: communicator without a name: 4 ranks: no team: it is an intercommunicator\n"
            "sumac: no team for 18 more communicators: nobody to talk to\n");
  sumac_team_options_free(options);
}

}  // namespace
