#include "manager/caller_limits.hpp"

#include <gtest/gtest.h>

namespace sumac::manager {
namespace {

TEST(CallerLimits, a_caller_has_so_many_streams_and_gets_back_what_it_closes) {
  CallerLimits limits;
  const Time now{};
  for (unsigned i = 0; i < CallerLimits::kStreams; ++i) EXPECT_TRUE(limits.open("user 7", now));
  EXPECT_FALSE(limits.open("user 7", now));
  EXPECT_TRUE(limits.open("user 8", now)) << "nobody else notices";
  limits.close("user 7");
  EXPECT_TRUE(limits.open("user 7", now));
  EXPECT_FALSE(limits.open("user 7", now));
  limits.close("user 9");  // User 9 has no open stream.
}

TEST(CallerLimits, ten_questions_a_second_and_ten_at_once) {
  CallerLimits limits;
  Time now{};
  int answered = 0;
  for (int i = 0; i < 100; ++i) answered += limits.ask("user 7", now);
  EXPECT_EQ(answered, 10);
  EXPECT_TRUE(limits.ask("user 8", now)) << "nobody else notices";
  for (int i = 0; i < 1000; ++i, now += Millis(1)) answered += limits.ask("user 7", now);
  EXPECT_EQ(answered, 19) << "one each 100 ms";
  now += Seconds(3600);
  for (int i = 0; i < 100; ++i) answered += limits.ask("user 7", now);
  EXPECT_EQ(answered, 29) << "a long rest saves up no more than a second's";
}

TEST(CallerLimits, who_asks_no_more_is_forgotten) {
  CallerLimits limits;
  Time now{};
  for (int i = 0; i < 5000; ++i, now += Millis(10)) limits.ask("user " + std::to_string(i), now);
  EXPECT_LE(limits.size(), 1200u);
}

}  // namespace
}  // namespace sumac::manager
