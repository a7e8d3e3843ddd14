// Tests how threads wait, by numbers alone: time is virtual, and nothing yields or sleeps.
#include "base/wait_policy.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace sumac {
namespace {

enum class Next : std::uint8_t { look, yield, sleep };

Next next_of(SpinPolicy& policy, Time now, auto&& switches) {
  const WaitPlan plan = policy.next(now, switches);
  EXPECT_FALSE(plan.yields && plan.sleep > Duration{});
  return plan.yields ? Next::yield : plan.sleep > Duration{} ? Next::sleep : Next::look;
}

/// Performs one wait in which nothing arrives for a long time; returns the time spent spinning.
Duration lonely_wait(SpinPolicy& policy, Time& now, long& switches, long switched_out = 0) {
  const auto count = [&] { return switches; };
  const Time start = now;
  policy.found(now);
  Next next;
  while ((next = next_of(policy, now, count)) == Next::look) {
    now += Micros{1};
    switches += std::exchange(switched_out, 0);
  }
  const Duration spun = now - start;
  while (next == Next::yield) next = next_of(policy, now, count);
  EXPECT_EQ(next, Next::sleep);
  EXPECT_EQ(next_of(policy, now, count), Next::sleep) << "woken for nothing: back to sleep";
  now += Millis{5};
  return spun;
}

TEST(SpinPolicy, LooksThenYieldsThenSleeps) {
  SpinPolicy policy(waits::kMessage);
  const auto none = [] { return 0L; };
  Time now = at(Seconds{1});
  EXPECT_EQ(next_of(policy, now, none), Next::look);
  EXPECT_EQ(next_of(policy, now + Micros{19}, none), Next::look);
  EXPECT_EQ(next_of(policy, now + Micros{20}, none), Next::yield);
  EXPECT_EQ(next_of(policy, now + Micros{21}, none), Next::yield);
  EXPECT_EQ(next_of(policy, now + Micros{22}, none), Next::yield);
  EXPECT_EQ(next_of(policy, now + Micros{23}, none), Next::sleep);
  policy.found(now);
  EXPECT_EQ(next_of(policy, now + Micros{24}, none), Next::look);
}

TEST(SpinPolicy, SpinsThatFindNothingBecomeRare) {
  SpinPolicy policy(waits::kMessage);
  Time now = at(Seconds{1});
  long switches = 0;
  Duration spun{0};
  for (int i = 0; i < 160; ++i) spun += lonely_wait(policy, now, switches);
  EXPECT_LE(spun, Micros{21} * (4 + 10)) << "4 in a row, then one in 16";
  EXPECT_GT(spun, Duration::zero());
}

TEST(SpinPolicy, OneAnswerInTimeBringsSpinningBack) {
  SpinPolicy policy(waits::kMessage);
  Time now = at(Seconds{1});
  long switches = 0;
  for (int i = 0; i < 10; ++i) lonely_wait(policy, now, switches);
  const auto count = [&] { return switches; };
  policy.found(now);
  int waits = 0;
  while (next_of(policy, now, count) != Next::look) {
    policy.found(now);
    ASSERT_LT(++waits, 17);
  }
  policy.found(now);  // The message arrived during a look.
  EXPECT_EQ(next_of(policy, now, count), Next::look);
}

TEST(SpinPolicy, AThreadThatIsSwitchedOutStopsSpinningAndRecoversSlowly) {
  SpinPolicy policy(waits::kMessage);
  Time now = at(Seconds{1});
  long switches = 0;
  const auto count = [&] { return switches; };
  lonely_wait(policy, now, switches);
  for (int i = 0; i < 200 && policy.budget() > Duration::zero(); ++i) lonely_wait(policy, now, switches, 1);
  EXPECT_EQ(policy.budget(), Duration::zero());
  Duration spun{0};
  for (int i = 0; i < 50; ++i) spun += lonely_wait(policy, now, switches);
  EXPECT_LE(spun, Duration(Micros{2}));
  for (int i = 0; i < 64 * 8; ++i) {
    policy.found(now);
    next_of(policy, now, count);
  }
  EXPECT_EQ(policy.budget(), Duration(Micros{20}));
}

TEST(SpinPolicy, TheShareOfTheCoreIsKept) {
  WaitLimits config = waits::kMessage;
  config.spin = Micros{100};
  config.cpu_share = 0.1;
  SpinPolicy policy(config);
  const auto none = [] { return 0L; };
  Time now = at(Seconds{1});
  Duration spun{0};
  // A message arrives 90 us into each spin: spinning pays, but takes 90 % of the core.
  for (int i = 0; i < 10000; ++i) {
    const Time start = now;
    while (next_of(policy, now, none) == Next::look && now - start < Micros{90}) now += Micros{1};
    spun += now - start;
    if (now == start) now += Micros{90};  // The thread has slept for the 90 us.
    policy.found(now);
  }
  const Duration wall = now - at(Seconds{1});
  EXPECT_LE(spun, wall / 10 + Millis{11}) << "a tenth, and what it had saved up before";
  EXPECT_GE(spun, wall / 20);
}

TEST(SpinPolicy, NoBudgetNoSpin) {
  WaitLimits config = waits::kMessage;
  config.spin = Micros{0};
  SpinPolicy policy(config);
  EXPECT_EQ(next_of(policy, at(Seconds{1}), [] { return 0L; }), Next::sleep);
}

}  // namespace
}  // namespace sumac
