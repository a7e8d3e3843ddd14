// The cutting of operations: every element once, in parts within the limits, for all kinds of parts alike.
#include "coll/cut.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace sumac::coll {
namespace {

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

TEST(Cut, PartsAreWithinTheLimits) {
  const struct {
    const char* name;
    std::uint64_t total;
    CutLimits limits;
    std::uint64_t step, count, last;
  } rows[] = {
      {"zero bytes are no part", 0, {100, 64}, 64, 0, 0},
      {"zero bytes are no part in an even cut", 0, {128, 64, true}, 64, 0, 0},
      {"one unit is one part", 64, {64, 64}, 64, 1, 64},
      {"one unit is one part of an even cut", 64, {64, 64, true}, 64, 1, 64},
      {"one unit more is a second part", 128, {64, 64}, 64, 2, 64},
      {"less than a unit is one part", 1, {64, 64}, 1, 1, 1},
      {"less than a unit has a whole unit's step in an even cut", 1, {64, 64, true}, 64, 1, 1},
      {"a total within the limit is not cut, although neither is a multiple", 90, {100, 64}, 90, 1, 90},
      {"an even cut keeps to whole units there", 90, {100, 64, true}, 64, 2, 26},
      {"a rest is shorter", 1000, {300, 1}, 300, 4, 100},
      {"an even cut has no short rest", 1000, {300, 1, true}, 250, 4, 250},
      {"a limit that is no multiple of the unit is rounded down", 1000, {300, 64}, 256, 4, 232},
      {"a total that is no multiple of the unit", 1001, {512, 64, true}, 512, 2, 489},
      {"rounding up to units may need fewer parts", 65 * 3, {65, 64, true}, 64, 4, 3},
      {"a limit smaller than a unit gives parts of one unit", 200, {10, 64}, 64, 4, 8},
      {"a limit smaller than a unit in an even cut", 200, {10, 64, true}, 64, 4, 8},
      {"a total smaller than such a unit is not cut", 30, {10, 64}, 30, 1, 30},
      {"a limit of zero is one unit", 3, {0, 1}, 1, 3, 1},
      {"elements that do not fit a cache line", 120, {50, 12}, 48, 3, 24},
      {"the largest total", kHuge, {1, 1}, 1, kHuge, 1},
      {"the largest total in an even cut",
       kHuge,
       {std::uint64_t{1} << 63, 64, true},
       std::uint64_t{1} << 63,
       2,
       (std::uint64_t{1} << 63) - 1},
      {"the largest total and limit", kHuge, {kHuge, 64}, kHuge, 1, kHuge},
      {"the largest limit in an even cut", kHuge - 64, {kHuge, 64, true}, kHuge - 63, 1, kHuge - 64},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Cut parts = cut(row.total, row.limits);
    EXPECT_EQ(parts.step, row.step);
    EXPECT_EQ(parts.count, row.count);
    if (row.count == 0) continue;
    EXPECT_EQ(parts.size(row.count - 1), row.last);
    EXPECT_EQ(parts.size(0), std::min(row.step, row.total));
  }
}

TEST(Cut, CoversEachElementOnceInAsFewPartsAsItCan) {
  for (const std::uint64_t unit : {1, 8, 12, 64})
    for (const std::uint64_t most : {1, 64, 100, 4096})
      for (std::uint64_t total = 1; total < 700; ++total)
        for (const bool is_even : {false, true}) {
          const CutLimits limits{most, unit, is_even};
          const Cut parts = cut(total, limits);
          std::uint64_t at = 0;
          for (std::uint64_t i = 0; i < parts.count; ++i) {
            ASSERT_EQ(parts.from(i), at);
            ASSERT_GT(parts.size(i), 0u);
            ASSERT_LE(parts.size(i), std::max(most, unit));
            ASSERT_TRUE(i + 1 == parts.count || parts.size(i) % unit == 0);
            at += parts.size(i);
          }
          ASSERT_EQ(at, total) << unit << " " << most;
          ASSERT_TRUE(!is_even || parts.step % unit == 0);
          const std::uint64_t largest = std::max(most / unit * unit, unit);
          ASSERT_LE(parts.count, divide_up(total, largest));
        }
}

TEST(Cut, ATotalThatEndsEarlierHasNothingThere) {
  EXPECT_EQ(part_at(0, 0, 10), 0u);
  EXPECT_EQ(part_at(10, 10, 10), 0u);
  EXPECT_EQ(part_at(10, 11, 10), 1u);
  EXPECT_EQ(part_at(kHuge - 1, kHuge, 10), 1u);
}

TEST(Cut, SharesGoByWeight) {
  const struct {
    const char* name;
    std::uint64_t total, unit;
    std::vector<std::uint64_t> weights, ends;
  } rows[] = {
      {"nothing", 0, 8, {1, 1}, {0, 0}},
      {"one unit goes to one share", 8, 8, {1, 1}, {8, 8}},
      {"equal shares", 640, 32, {1, 1}, {320, 640}},
      {"three to one", 640, 32, {3, 1}, {480, 640}},
      {"a total that is no multiple of the unit", 33, 32, {1, 1}, {32, 33}},
      {"a weight too small for one unit", 64, 32, {100, 1}, {64, 64}},
      {"the largest total", kHuge, 1, {1, 1}, {std::uint64_t{1} << 63, kHuge}},
      {"the largest total and weights", kHuge, 1, {kHuge / 2, kHuge / 2 + 1}, {kHuge / 2, kHuge}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::uint64_t all = 0, behind = 0;
    for (const auto weight : row.weights) all += weight;
    for (std::size_t i = 0; i < row.weights.size(); ++i) {
      behind += row.weights[i];
      EXPECT_EQ(share_end(row.total, row.unit, behind, all), row.ends[i]) << i;
    }
  }
}

}  // namespace
}  // namespace sumac::coll
