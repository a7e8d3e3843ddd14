// Tests how threads wait, by numbers alone: time is virtual, and nothing yields or sleeps.
#include "base/wait_policy.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

TEST(BackoffPolicy, AHostIsCrowdedWithMoreRanksThanProcessorsReallyAvailable) {
  const struct {
    int ranks;
    double cpus;
    bool is_crowded;
  } rows[] = {{1, 1, false},  {2, 2, false},   {3, 2, true},  {16, 16, false},
              {17, 16, true}, {2, 1.99, true}, {1, 0.5, true}};
  for (const auto& row : rows)
    EXPECT_EQ(row.is_crowded, is_crowded(row.ranks, row.cpus)) << row.ranks << " on " << row.cpus;
}

struct Moment {
  Duration waited;
  WaitPlan plan;
};

/// Simulates a wait of `end` that is checked at every `step`; a sleep takes as long as was asked for.
std::vector<Moment> wait_for(const WaitLimits& limits, Duration end, Duration step, bool can_drive = true) {
  BackoffPolicy policy(limits);
  std::vector<Moment> moments;
  const Time begin = Time{} + Millis(77);
  for (Time now = begin; now - begin < end; now += step + moments.back().plan.sleep)
    moments.push_back({now - begin, policy.next(now, can_drive)});
  return moments;
}

TEST(BackoffPolicy, SpinsThenYieldsThenSleeps) {
  for (const auto& [waited, plan] : wait_for(waits::kAlone, Millis(20), Micros(1))) {
    SCOPED_TRACE(waited.count());
    EXPECT_EQ(waited >= Micros(100) && waited < Millis(10), plan.yields);
    EXPECT_EQ(waited >= Millis(10), plan.sleep > Duration{});
  }
}

// The rank has yielded its core before it even reads the clock.
TEST(BackoffPolicy, InACrowdNeverYieldsTwiceInOnePause) {
  for (const auto& [waited, plan] : wait_for(waits::kCrowded, Millis(20), Micros(1))) {
    SCOPED_TRACE(waited.count());
    EXPECT_FALSE(plan.yields);
    EXPECT_EQ(waited >= Millis(10), plan.sleep > Duration{});
  }
}

TEST(BackoffPolicy, SleepsASmallPartOfWhatItHasWaitedAndNeverMoreThanAMillisecond) {
  for (const WaitLimits* limits : {&waits::kAlone, &waits::kCrowded}) {
    Duration longest{};
    for (const auto& [waited, plan] : wait_for(*limits, std::chrono::seconds(10), Micros(3))) {
      ASSERT_LE(plan.sleep, waited / 64) << waited.count();
      longest = std::max(longest, plan.sleep);
    }
    EXPECT_EQ(Millis(1), longest) << "long waits cost no processor";
  }
}

TEST(BackoffPolicy, SleepsLongInALongWaitWhereNothingElseMatters) {
  for (const bool sleeps_long : {false, true}) {
    BackoffPolicy policy(waits::kAlone, sleeps_long);
    Time now{Seconds{1}};
    (void)policy.next(now, false);
    EXPECT_EQ(policy.next(now + Millis{99}, false).sleep, Millis{1}) << sleeps_long;
    EXPECT_EQ(policy.next(now + Millis{320}, false).sleep, sleeps_long ? Millis{10} : Millis{1});
    EXPECT_EQ(policy.next(now + Seconds{10}, false).sleep, sleeps_long ? Millis{20} : Millis{1});
  }
}

TEST(BackoffPolicy, BeginsAfreshWhenSomethingHasMoved) {
  BackoffPolicy policy(waits::kAlone, true);
  const Time now{Seconds{1}};
  (void)policy.next(now, false);
  EXPECT_GT(policy.next(now + Seconds{10}, false).sleep, Duration{});
  policy.moved();
  const WaitPlan plan = policy.next(now + Seconds{10}, false);
  EXPECT_EQ(plan.sleep, Duration{});
  EXPECT_FALSE(plan.yields);
}

TEST(BackoffPolicy, DrivesMpiBeforeEachSleepAndAtLeastOnceAMillisecond) {
  for (const WaitLimits* limits : {&waits::kAlone, &waits::kCrowded}) {
    Duration driven{};
    for (const auto& [waited, plan] : wait_for(*limits, std::chrono::seconds(2), Micros(3))) {
      ASSERT_LE(waited - driven, Millis(1) + Micros(3) + Micros(20)) << waited.count();
      if (plan.drives) driven = waited;
    }
  }
  // A rank with its own core drives the MPI at each look; on a crowded host, where others need the core more, after 20
  // us.
  EXPECT_TRUE(wait_for(waits::kAlone, Micros(1), Micros(1)).front().plan.drives);
  for (const auto& [waited, plan] : wait_for(waits::kCrowded, Millis(1), Micros(1)))
    EXPECT_EQ(waited > Duration{} && waited.count() % 20000 == 0, plan.drives) << waited.count();
}

TEST(BackoffPolicy, WithoutAnMpiToDriveNothingIsDriven) {
  for (const auto& [waited, plan] : wait_for(waits::kAlone, Millis(20), Micros(5), false))
    EXPECT_FALSE(plan.drives) << waited.count();
}

TEST(BackoffPolicy, LooksForTheDeadEveryTenMilliseconds) {
  for (const WaitLimits* limits : {&waits::kAlone, &waits::kCrowded}) {
    Duration checked{};
    int checks = 0;
    for (const auto& [waited, plan] : wait_for(*limits, std::chrono::seconds(1), Micros(3))) {
      ASSERT_LE(waited - checked, Millis(11) + Micros(3)) << "a sleep may come in between";
      if (!plan.checks) continue;
      ASSERT_GE(waited - checked, Millis(10)) << "each check is a system call";
      checked = waited;
      ++checks;
    }
    EXPECT_GE(checks, 90);
  }
}

// The component's progress thread has done this since its first version; the numbers are its own.
TEST(BackoffPolicy, TheProgressThreadYieldsThenSleepsInThreeSteps) {
  const struct {
    const char* name;
    Duration waited;
    bool yields;
    Duration sleep;
  } rows[] = {
      {"at first it looks again at once", Micros(0), false, Micros(0)},
      {"until 20 us", Micros(19), false, Micros(0)},
      {"then it yields", Micros(20), true, Micros(0)},
      {"until 200 us", Micros(199), true, Micros(0)},
      {"then it sleeps", Micros(200), false, Micros(50)},
      {"until 2 ms", Micros(1999), false, Micros(50)},
      {"then longer", Millis(2), false, Micros(200)},
      {"until 20 ms", Micros(19999), false, Micros(200)},
      {"then longer still", Millis(20), false, Micros(500)},
      {"but not longer than that", Seconds(3600), false, Micros(500)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const WaitPlan plan = backoff(waits::kThread, row.waited);
    EXPECT_EQ(plan.yields, row.yields);
    EXPECT_EQ(plan.sleep, row.sleep);
    EXPECT_LE(plan.sleep, waits::kThread.sleep_max);
    EXPECT_EQ(plan.looks, 32u);
  }
}

TEST(PaidLately, LooksAsLongAsThatPays) {
  PaidLately lately;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(lately.looks());
    lately.paid();
  }
  for (unsigned i = 0; i < PaidLately::kMissesMax; ++i) {
    EXPECT_TRUE(lately.looks()) << "once in vain says little";
    lately.missed();
  }
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 1; i < PaidLately::kRetryEvery; ++i) {
      EXPECT_FALSE(lately.looks()) << i;
      lately.missed();
    }
    EXPECT_TRUE(lately.looks()) << "now and then it is tried";
    lately.missed();
  }
  for (std::uint64_t i = 1; i < PaidLately::kRetryEvery; ++i) lately.missed(), static_cast<void>(lately.looks());
  EXPECT_TRUE(lately.looks());
  lately.paid();
  EXPECT_TRUE(lately.looks()) << "and found";
}

TEST(CallerPolicy, LooksRarelyWithNothingUnderWayAndYieldsAfterManyLooksInVain) {
  CallerPolicy idle;
  for (int call = 1; call <= 320; ++call) {
    const bool looks = idle.looks(false);
    EXPECT_EQ(looks, call % 32 == 0) << call;
    if (looks) static_cast<void>(idle.after(true, false));
  }
  CallerPolicy busy;
  for (int vain = 1; vain <= 100; ++vain) {
    EXPECT_TRUE(busy.looks(true));
    EXPECT_EQ(busy.after(false, true).yields, vain >= 32 && vain % 8 == 0) << vain;
  }
  EXPECT_FALSE(busy.after(true, true).yields);
  for (int vain = 1; vain < 32; ++vain) EXPECT_FALSE(busy.after(false, true).yields) << "it starts afresh";
  EXPECT_TRUE(busy.after(false, true).yields);
}

TEST(Rhythm, IsDueAtFirstAndThenEverySoOften) {
  Rhythm rhythm;
  const Time begin = at(Seconds(1));
  EXPECT_TRUE(rhythm.is_due(begin, Millis(1)));
  rhythm.done(begin);
  EXPECT_FALSE(rhythm.is_due(begin + Micros(999), Millis(1)));
  EXPECT_EQ(rhythm.left(begin + Micros(999), Millis(1)), Duration(Micros(1)));
  EXPECT_TRUE(rhythm.is_due(begin + Millis(1), Millis(1)));
}

}  // namespace
}  // namespace sumac
