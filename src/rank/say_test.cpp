#include "rank/say.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using testing::MatchesRegex;

template <class Print>
std::string printed(const Print& print) {
  testing::internal::CaptureStderr();
  print();
  return testing::internal::GetCapturedStderr();
}

TEST(Say, a_line_begins_with_host_process_and_rank) {
  sumac_say_as("node7", 12);
  EXPECT_THAT(printed([] { SUMAC_SAY("%d of %s", 3, "them"); }),
              MatchesRegex("\\[node7:[0-9]+:12\\]\\[say_test\\.cpp:[0-9]+:operator\\(\\)\\] 3 of them\n"));
  sumac_say_as(nullptr, 0);
  EXPECT_THAT(printed([] { SUMAC_SAY("x"); }), MatchesRegex("\\[\\?:[0-9]+:0\\].* x\n"));
}

TEST(Say, a_message_of_many_communicators_is_printed_once) {
  EXPECT_NE(printed([] { sumac_say_once("first", true); }), "");
  EXPECT_EQ(printed([] { sumac_say_once("first", true); }), "");
}

TEST(Say, a_message_that_another_rank_printed_is_not_printed_again) {
  EXPECT_EQ(printed([] { sumac_say_once("theirs", false); }), "");
  EXPECT_EQ(printed([] { sumac_say_once("theirs", true); }), "");
}

TEST(Say, without_warnings_only_errors_are_printed) {
  sumac_say_warnings(false);
  EXPECT_FALSE(sumac_say_warns());
  EXPECT_EQ(printed([] { sumac_say_once("a warning", true); }), "");
  EXPECT_THAT(printed([] { SUMAC_SAY("an error"); }), testing::HasSubstr("an error\n"));
  sumac_say_warnings(true);
  EXPECT_THAT(printed([] { sumac_say_once("another warning", true); }), testing::HasSubstr("another warning\n"));
}

TEST(Say, each_of_several_lines_is_printed_once) {
  char lines[] = "one\ntwo\none";
  EXPECT_THAT(printed([&] { sumac_say_each_once(lines, true); }), MatchesRegex("\\[[^\n]* one\n\\[[^\n]* two\n"));
}

}  // namespace
