#include "client/recovery/repeat_pause.hpp"

#include <gtest/gtest.h>

namespace sumac::client {
namespace {

/// Returns how often the thread is woken in so long a time after one frame.
int looks_in(Duration time) {
  RepeatPause pause;
  EXPECT_TRUE(pause.sent(true));
  int looks = 0;
  for (Duration at = pause.length(); at <= time; at += pause.length()) {
    ++looks;
    pause.over(true);
  }
  return looks;
}

TEST(RepeatPause, GrowsWhileTheProgramComputes) {
  EXPECT_EQ(looks_in(Millis(1)), 1);
  EXPECT_EQ(looks_in(Millis(10)), 3);
  EXPECT_EQ(looks_in(Seconds(2)), 10);
  EXPECT_EQ(looks_in(Seconds(60)), 68) << "then one a second";
}

TEST(RepeatPause, ANewFrameDoesNotWaitForALongOne) {
  RepeatPause pause;
  EXPECT_TRUE(pause.sent(true));
  EXPECT_FALSE(pause.sent(true)) << "the thread wakes soon enough";
  while (pause.length() <= RepeatPause::kShort) pause.over(true);
  EXPECT_TRUE(pause.sent(true));
  EXPECT_EQ(pause.length(), RepeatPause::kFirst);
}

TEST(RepeatPause, AFrameWhoseCallerWaitsHasTime) {
  RepeatPause pause;
  EXPECT_TRUE(pause.sent(false));
  EXPECT_EQ(pause.length(), RepeatPause::kPosted);
  EXPECT_FALSE(pause.sent(false));
  EXPECT_TRUE(pause.sent(true)) << "for this one nobody looks";
  EXPECT_EQ(pause.length(), RepeatPause::kFirst);
  EXPECT_FALSE(pause.sent(false));
}

TEST(RepeatPause, IsSetAnewWhenNothingWasOpen) {
  RepeatPause pause;
  EXPECT_TRUE(pause.sent(true));
  pause.over(false);
  EXPECT_TRUE(pause.sent(true));
  EXPECT_EQ(pause.length(), RepeatPause::kFirst);
}

}  // namespace
}  // namespace sumac::client
