// The choice between two ways, as a function of times.
#include "coll/decision.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.hpp"

namespace sumac::coll {
namespace {

using Way = Decision::Way;

/// Runs trials until the decision is made; returns how many there were of each way.
std::array<int, 2> decide(Decision& decision, const std::function<double(Way)>& ns) {
  std::array<int, 2> taken{};
  while (!decision.is_settled()) {
    ++taken[static_cast<std::size_t>(decision.way())];
    decision.note(ns(decision.way()));
  }
  return taken;
}

/// Counts the calls until the decision is checked again.
std::uint64_t calls_left(Decision& decision) {
  std::uint64_t calls = 1;
  while (decision.count()) ++calls;
  return calls;
}

auto constant(double first, double second) {
  return [=](Way way) { return way == Way::first ? first : second; };
}

TEST(Decision, TakesTheFasterWayOnceBothWereTriedAsOften) {
  const struct {
    const char* name;
    double first, second;
    Way better;
    int tried;  ///< So often each.
  } rows[] = {
      {"the second is clearly faster", 245, 185, Way::second, 4},
      {"the first is clearly faster", 78, 127, Way::first, 4},
      {"the second is just clearly slower", 100, 116, Way::first, 4},
      {"the second is slower, but not clearly", 100, 114, Way::first, 8},
      {"as good as each other", 100, 100, Way::first, 8},
      {"not worth a change", 100, 94, Way::first, 8},
      {"just worth a change", 100, 93, Way::second, 8},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Decision decision;
    EXPECT_EQ(Way::first, decision.better());
    EXPECT_EQ((std::array{row.tried, row.tried}), decide(decision, constant(row.first, row.second)));
    EXPECT_EQ(row.better, decision.way());
    EXPECT_FLOAT_EQ(static_cast<float>(row.first), static_cast<float>(decision.median_ns(Way::first)));
    EXPECT_FLOAT_EQ(static_cast<float>(row.second), static_cast<float>(decision.median_ns(Way::second)));
  }
}

// Real starts look like this: the first call of each way touches memory for the first time, and in some calls one of
// the two ranks had no core.
TEST(Decision, DoesNotDependOnColdOrInterruptedCalls) {
  SplitMix64 random(7);
  for (int start = 0; start < 1000; ++start) {
    SCOPED_TRACE(start);
    Decision decision;
    int tried[2] = {}, interrupted[2] = {};
    decide(decision, [&](Way way) {
      const double ns = (way == Way::first ? 100 : 130) * (1 + static_cast<double>(random.next() % 100) / 1000);
      if (tried[static_cast<std::size_t>(way)]++ == 0) return 20 * ns;
      int& its = interrupted[static_cast<std::size_t>(way)];
      if (its == (Decision::kTimes - 1) / 2 || random.next() % 3 != 0) return ns;
      ++its;
      return 50 * ns;
    });
    ASSERT_EQ(Way::first, decision.way());
  }
}

// The first call after a change of ways finds the caches as the other way left them.
TEST(Decision, DoesNotDependOnTheFirstCallOfARun) {
  Decision decision;
  Way last = Way::second;
  decide(decision, [&](Way way) {
    const bool has_changed = way != last;
    last = way;
    return way == Way::first ? 100 : has_changed ? 300 : 80;
  });
  EXPECT_EQ(Way::second, decision.way());
}

TEST(Decision, IsLookedAtAgainAndCorrected) {
  Decision decision;
  decide(decision, constant(100, 50));
  ASSERT_EQ(Way::second, decision.way());
  EXPECT_EQ(Decision::kFirstLook, calls_left(decision));
  EXPECT_FALSE(decision.is_settled());
  EXPECT_EQ(Way::second, decision.better()) << "calls that are no trials go by what is known";
  decide(decision, constant(100, 101));
  EXPECT_EQ(Way::second, decision.way()) << "no change for a percent";
  EXPECT_EQ(4 * Decision::kFirstLook, calls_left(decision)) << "it was right";
  decide(decision, constant(50, 100));
  EXPECT_EQ(Way::first, decision.way());
  EXPECT_EQ(Decision::kFirstLook, calls_left(decision)) << "it was wrong";
  for (int i = 0; i < 12; ++i) decide(decision, constant(50, 100)), calls_left(decision);
  decide(decision, constant(50, 100));
  EXPECT_EQ(Decision::kLastLook, calls_left(decision)) << "never not at all";
}

TEST(Decision, IsPutOffByManyTrialsWithoutATimeAndByNoFewer) {
  Decision decision;
  const auto skip = [&](int times) {
    for (int i = 0; i < times; ++i) decision.skip();
  };
  skip(Decision::kSkipsMost - 1);
  decision.note(100);
  skip(Decision::kSkipsMost - 1);
  EXPECT_FALSE(decision.is_settled()) << "one with a time came between them";
  skip(1);
  EXPECT_TRUE(decision.is_settled());
  EXPECT_EQ(Way::first, decision.better());
  EXPECT_EQ(0, decision.median_ns(Way::second));
  EXPECT_EQ(Decision::kFirstLook, calls_left(decision));
}

}  // namespace
}  // namespace sumac::coll
