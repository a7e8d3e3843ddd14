#include "manager/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sumac::manager {
namespace {

using testing::HasSubstr;

TEST(Policy, what_one_user_may_hold) {
  const UserLimits limits{.jobs_max = 2, .share_max_percent = 25};  // 25 percent of 512 is 128.
  wire::Quota grant;
  grant.osts = 28;
  grant.max_groups = 8;
  const struct {
    const char* name;
    UserUsage held;
    const char* refused;
  } rows[] = {
      {"the first job", {0, 0, 0}, ""},
      {"up to the last OST", {1, 100, 120}, ""},
      {"one OST too many", {1, 101, 0}, "28 OSTs asked, user 1000 holds 101 and may hold 128 (25 % of 512)"},
      {"one group too many", {1, 0, 121}, "8 groups asked, user 1000 holds 121"},
      {"a job too many",
       {2, 0, 0},
       "user 1000 runs 2 jobs, the limit is 2: wait for one to end, or have "
       "SUMAC_AM_USER_JOBS_MAX raised"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto may = check_user(limits, {}, row.held, 1000, grant);
    EXPECT_EQ(may.has_value(), *row.refused == 0);
    if (!may) {
      EXPECT_EQ(may.error().code, Errc::exhausted);
      EXPECT_THAT(may.error().context, HasSubstr(row.refused));
    }
  }
  EXPECT_TRUE(check_user({}, {}, {400, 484, 504}, 0, grant)) << "no limit but the tree's";
}

TEST(Policy, a_reservation_covers_its_hosts_and_its_user_only) {
  EXPECT_EQ(*Reservations{}.covering({"h1", "h9"}, 5), "") << "mode off: anybody anywhere";
  const auto all = Reservations::parse("# nightly\nweather: h1 h2\t h3\n\nocean uid=1000: h4 h5 # theirs\r\n");
  ASSERT_TRUE(all) << all.error().context;
  EXPECT_TRUE(all->on());
  EXPECT_EQ(*all->covering({"h3", "h1"}, 7), "weather");
  EXPECT_EQ(*all->covering({"h5"}, 1000), "ocean");
  EXPECT_THAT(all->covering({"h1", "h4"}, 7).error().context, HasSubstr("host h4 is not in reservation weather"));
  EXPECT_THAT(all->covering({"h9"}, 7).error().context, HasSubstr("no reservation names host h9"));
  EXPECT_THAT(all->covering({"h4"}, 7).error().context, HasSubstr("belongs to user 1000, the job to user 7"));
  EXPECT_EQ(all->covering({"h4"}, 7).error().code, Errc::denied);
  EXPECT_FALSE(Reservations::parse("")->covering({"h1"}, 0)) << "mode on and nothing reserved: nobody";
}

TEST(Policy, a_file_of_reservations_that_makes_no_sense_is_refused_with_its_line) {
  const struct {
    const char* text;
    const char* says;
  } rows[] = {
      {"weather h1", "line 1: no colon"},
      {"\n\n: h1", "line 3: no name"},
      {"weather:", "line 1: reservation weather names no host"},
      {"a: h1\nb: h2 h1", "line 2: host h1 is named twice (reservation a)"},
      {"a: h1 h1", "line 1: host h1 is named twice"},
      {"a: h1\na: h2", "line 2: a reservation a is there already"},
      {"a uid=x: h1", "not 'uid=x'"},
      {"a uid=: h1", "not 'uid='"},
      {"a uid=-1: h1", "not 'uid=-1'"},
      {"a uid=4294967296: h1", "not 'uid=4294967296'"},
      {"a uid=1 more: h1", "line 1"},
      {"a gid=1: h1", "not 'gid=1'"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    const auto parsed = Reservations::parse(row.text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Errc::invalid);
    EXPECT_THAT(parsed.error().context, HasSubstr(row.says));
  }
}

}  // namespace
}  // namespace sumac::manager
