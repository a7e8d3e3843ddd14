// When a communicator gets its team.
#include "rank/worth.h"

#include <gtest/gtest.h>

namespace {

uint32_t calls(int after, int hosts, bool is_world = false, int level = HCOLL_OFF) {
  hcoll_settings settings{};
  settings.level = static_cast<hcoll_level>(level);
  settings.hosts_min = 2;
  settings.team_after = after;
  return sumac_calls_before_team(&settings, hosts, is_world);
}

TEST(Worth, TheMoreHostsTheSoonerATeamPays) {
  EXPECT_EQ(calls(-1, 1), 600u);
  EXPECT_EQ(calls(-1, 2), 12u);
  EXPECT_EQ(calls(-1, 4), 12u);
  EXPECT_EQ(calls(-1, 8), 6u);
  EXPECT_EQ(calls(-1, 16), 4u);
  EXPECT_EQ(calls(-1, 64), 3u);
  EXPECT_EQ(calls(-1, 4096), 2u);
}

TEST(Worth, TheUsersNumberCountsOnOneHostAndOverSeveral) {
  EXPECT_EQ(calls(0, 1), 0u);
  EXPECT_EQ(calls(7, 1), 7u);
  EXPECT_EQ(calls(7, 16), 7u);
}

TEST(Worth, TheWorldAndGroupsThatMustBeThereAreMadeAtOnce) {
  EXPECT_EQ(calls(-1, 16, true), 0u);
  EXPECT_EQ(calls(9, 1, true), 0u);
  EXPECT_EQ(calls(9, 16, false, HCOLL_FORCE_COMM), 0u);
  EXPECT_EQ(calls(9, 16, false, HCOLL_FORCE), 9u);
}

}  // namespace
