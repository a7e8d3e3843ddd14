#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

using namespace std::chrono_literals;

TEST(Clock, TimesAreOrderedAndTypesDoNotMix) {
  EXPECT_LT(at(9ms), at(10ms));
  EXPECT_EQ(at(10ms) - at(9ms), 1ms);
  EXPECT_EQ(at(9ms) + 1us, at(9001us));
  static_assert(!std::is_convertible_v<Time, Duration> && !std::is_convertible_v<Duration, Time>);
  static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, Time>);
}

TEST(Clock, AnEndlessWaitIsNever) {
  EXPECT_EQ(deadline_after(at(5s), 1s), at(6s));
  EXPECT_EQ(deadline_after(at(5s), Duration::max()), kNever);
  EXPECT_EQ(deadline_after(at(0s), Duration::max()), kNever);
}

TEST(Clock, MonotonicNeverGoesBack) {
  const Time first = monotonic_now();
  EXPECT_LE(first, monotonic_now());
}

}  // namespace
}  // namespace sumac
