// Tests how a rank waits, by numbers alone: time is virtual, and nothing yields or sleeps.
#include "shm/waiting.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sumac::shm {
namespace {

/// Never called: the test only checks whether it would be.
void drive(void*) {}

TEST(Waiting, IsCrowdedWithMoreRanksThanProcessorsReallyAvailable) {
  const struct {
    int ranks;
    double cpus;
    bool is_crowded;
  } rows[] = {{1, 1, false},  {2, 2, false},   {3, 2, true},  {16, 16, false},
              {17, 16, true}, {2, 1.99, true}, {1, 0.5, true}};
  for (const auto& row : rows)
    EXPECT_EQ(row.is_crowded, (Waiting{.ranks_on_host = row.ranks, .cpus = row.cpus}.crowded()))
        << row.ranks << " on " << row.cpus;
}

struct Moment {
  Duration waited;
  Patience::Plan plan;
};

/// Simulates a wait of `end` that is looked at every `step`; a sleep takes as long as was asked for.
std::vector<Moment> wait_for(const Waiting& waiting, Duration end, Duration step) {
  Patience patience(waiting);
  std::vector<Moment> moments;
  const Time begin = Time{} + Millis(77);
  for (Time now = begin; now - begin < end; now += step + moments.back().plan.sleep)
    moments.push_back({now - begin, patience.plan(now)});
  return moments;
}

constexpr Waiting kAlone{.ranks_on_host = 2, .cpus = 2, .progress = drive};
constexpr Waiting kCrowd{.ranks_on_host = 8, .cpus = 2, .progress = drive};

TEST(Patience, SpinsThenYieldsThenSleeps) {
  for (const auto& [waited, plan] : wait_for(kAlone, Millis(20), Micros(1))) {
    SCOPED_TRACE(waited.count());
    EXPECT_EQ(waited >= Micros(100) && waited < Millis(10), plan.yields);
    EXPECT_EQ(waited >= Millis(10), plan.sleep > Duration{});
  }
}

// The rank has yielded its core before it even reads the clock.
TEST(Patience, InACrowdNeverYieldsTwiceInOnePause) {
  for (const auto& [waited, plan] : wait_for(kCrowd, Millis(20), Micros(1))) {
    SCOPED_TRACE(waited.count());
    EXPECT_FALSE(plan.yields);
    EXPECT_EQ(waited >= Millis(10), plan.sleep > Duration{});
  }
}

TEST(Patience, SleepsASmallPartOfWhatItHasWaitedAndNeverMoreThanAMillisecond) {
  for (const Waiting& waiting : {kAlone, kCrowd}) {
    Duration longest{};
    for (const auto& [waited, plan] : wait_for(waiting, std::chrono::seconds(10), Micros(3))) {
      ASSERT_LE(plan.sleep, waited / 64) << waited.count();
      longest = std::max(longest, plan.sleep);
    }
    EXPECT_EQ(Millis(1), longest) << "long waits cost no processor";
  }
}

TEST(Patience, DrivesMpiBeforeEachSleepAndAtLeastOnceAMillisecond) {
  for (const Waiting& waiting : {kAlone, kCrowd}) {
    Duration driven{};
    for (const auto& [waited, plan] : wait_for(waiting, std::chrono::seconds(2), Micros(3))) {
      ASSERT_LE(waited - driven, Millis(1) + Micros(3) + Micros(20)) << waited.count();
      if (plan.drives_mpi) driven = waited;
    }
  }
  // A rank with its own core drives the MPI at each look; on a crowded host, where others need the core more, after 20
  // us.
  EXPECT_TRUE(wait_for(kAlone, Micros(1), Micros(1)).front().plan.drives_mpi);
  for (const auto& [waited, plan] : wait_for(kCrowd, Millis(1), Micros(1)))
    EXPECT_EQ(waited > Duration{} && waited.count() % 20000 == 0, plan.drives_mpi) << waited.count();
}

TEST(Patience, WithoutAnMpiToDriveNothingIsDriven) {
  for (const auto& [waited, plan] : wait_for({.ranks_on_host = 2, .cpus = 2}, Millis(20), Micros(5)))
    EXPECT_FALSE(plan.drives_mpi) << waited.count();
}

TEST(Patience, LooksForTheDeadEveryTenMilliseconds) {
  for (const Waiting& waiting : {kAlone, kCrowd}) {
    Duration looked{};
    int looks = 0;
    for (const auto& [waited, plan] : wait_for(waiting, std::chrono::seconds(1), Micros(3))) {
      ASSERT_LE(waited - looked, Millis(11) + Micros(3)) << "a sleep may come in between";
      if (!plan.looks) continue;
      ASSERT_GE(waited - looked, Millis(10)) << "each look is a system call";
      looked = waited;
      ++looks;
    }
    EXPECT_GE(looks, 90);
  }
}

}  // namespace
}  // namespace sumac::shm
