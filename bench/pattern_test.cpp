// The check must accept every sum that an honest MPI can give, in any order of additions, and nothing that a broken one gives.
#include "bench/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

namespace {

template <class T>
constexpr bench_type kType = std::is_same_v<T, std::int32_t>   ? kBenchInt32
                             : std::is_same_v<T, std::int64_t> ? kBenchInt64
                             : std::is_same_v<T, float>        ? kBenchFloat
                                                               : kBenchDouble;

struct Free {
  void operator()(bench_pattern* p) const { bench_pattern_free(p); }
};

template <class T>
struct Job {
  Job(int rank_count, std::size_t element_count)
      : ranks(rank_count), count(element_count), pattern(bench_pattern_new(kType<T>, rank_count, element_count)) {}

  std::vector<T> contribution(int rank, int iteration) const {
    std::vector<T> out(count);
    bench_pattern_fill(pattern.get(), rank, iteration, out.data());
    return out;
  }
  std::vector<T> sum(const std::vector<int>& order, int iteration) const {
    std::vector<T> out(count, T{0});
    for (int rank : order) {
      const auto one = contribution(rank, iteration);
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(out[i] + one[i]);
    }
    return out;
  }
  std::vector<int> everybody() const {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i) order[static_cast<std::size_t>(i)] = i;
    return order;
  }
  std::size_t wrong(int iteration, const std::vector<T>& result) const {
    return bench_pattern_check(pattern.get(), iteration, result.data(), nullptr);
  }

  int ranks;
  std::size_t count;
  std::unique_ptr<bench_pattern, Free> pattern;
};

template <class T>
class Pattern : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(Pattern, Types);

TYPED_TEST(Pattern, TheSumIsRightInAnyOrder) {
  std::mt19937 random(7);
  for (int ranks : {1, 2, 3, 16, 200, 2047}) {
    Job<TypeParam> job(ranks, 33);
    auto order = job.everybody();
    for (int iteration = 0; iteration < 4; ++iteration) {
      EXPECT_EQ(job.wrong(iteration, job.sum(order, iteration)), 0u) << ranks << " ranks";
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TYPED_TEST(Pattern, EveryKindOfBrokenSumIsFoundInEveryElement) {
  constexpr std::size_t kCount = 257;
  Job<TypeParam> job(16, kCount);
  const auto right = job.sum(job.everybody(), 3);
  const auto without = [&](int rank, int instead) {
    auto order = job.everybody();
    order.erase(order.begin() + rank);
    if (instead >= 0) order.push_back(instead);
    return job.sum(order, 3);
  };
  for (int rank = 0; rank < 16; ++rank) {
    EXPECT_EQ(job.wrong(3, without(rank, -1)), kCount) << "rank " << rank << " is missing";
    EXPECT_EQ(job.wrong(3, without(rank, (rank + 1) % 16)), kCount) << "the next one counted twice instead of " << rank;
    auto twice = job.everybody();
    twice.push_back(rank);
    EXPECT_EQ(job.wrong(3, job.sum(twice, 3)), kCount) << "rank " << rank << " counted twice";
  }
  EXPECT_EQ(job.wrong(3, std::vector<TypeParam>(kCount, TypeParam{0})), kCount) << "nothing was written";
  EXPECT_GT(job.wrong(3, job.sum(job.everybody(), 2)), kCount - 5) << "the sum of the iteration before";
  auto shifted = right;
  std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
  EXPECT_GT(job.wrong(3, shifted), kCount - 5) << "each element one place off";
}

TYPED_TEST(Pattern, OneWrongElementIsNamed) {
  Job<TypeParam> job(5, 100);
  auto result = job.sum(job.everybody(), 0);
  const auto right = result[42];
  result[42] += 1000;
  bench_mismatch first{};
  EXPECT_EQ(bench_pattern_check(job.pattern.get(), 0, result.data(), &first), 1u);
  EXPECT_EQ(first.element, 42u);
  EXPECT_EQ(first.got, static_cast<double>(result[42]));
  EXPECT_NEAR(first.expected, static_cast<double>(right), first.allowed);
}

TEST(PatternBound, GammaOfTheNumberOfAdditions) {
  EXPECT_EQ(bench_error_bound(kBenchInt64, 16), 0);
  EXPECT_EQ(bench_error_bound(kBenchFloat, 1), 0);
  const double u = std::ldexp(1.0, -24);
  EXPECT_DOUBLE_EQ(bench_error_bound(kBenchFloat, 16), 15 * u / (1 - 15 * u));
  EXPECT_DOUBLE_EQ(bench_error_bound(kBenchDouble, 2), std::ldexp(1.0, -53));
}

TEST(PatternBound, IntegersAreOffByNothingAndFloatsByLittle) {
  Job<std::int64_t> whole(8, 10);
  auto exact = whole.sum(whole.everybody(), 0);
  exact[9] += 1;
  EXPECT_EQ(whole.wrong(0, exact), 1u) << "an integer that is off by one";

  Job<float> job(8, 10);
  const auto result = job.sum(job.everybody(), 0);
  auto beyond = result;
  for (auto& value : beyond) value *= 1 + 2.1f * static_cast<float>(bench_error_bound(kBenchFloat, 8));
  EXPECT_EQ(job.wrong(0, beyond), 10u) << "a little beyond the bound on either side";
  auto not_a_number = result;
  not_a_number[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(job.wrong(0, not_a_number), 1u);
  not_a_number[0] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(job.wrong(0, not_a_number), 1u);
}

TEST(PatternBound, Names) {
  for (int i = 0; i < kBenchTypes; ++i) {
    bench_type type = kBenchTypes;
    ASSERT_EQ(bench_parse_type(bench_type_name(static_cast<bench_type>(i)), &type), 0);
    EXPECT_EQ(type, i);
  }
  bench_type type;
  EXPECT_EQ(bench_parse_type("half", &type), -1);
}

TEST(Pattern, a_part_is_the_same_as_that_part_of_the_whole) {
  const Job<float> job(3, 1000);
  const auto whole = job.contribution(1, 7);
  std::vector<float> part(200);
  bench_pattern_fill_part(job.pattern.get(), 1, 7, 300, part.size(), part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 300));

  const auto sum = job.sum(job.everybody(), 7);
  bench_mismatch first{};
  EXPECT_EQ(bench_pattern_check_part(job.pattern.get(), 7, 300, 200, sum.data() + 300, &first), 0U);
  EXPECT_GT(bench_pattern_check_part(job.pattern.get(), 7, 301, 200, sum.data() + 300, &first), 150U)
      << "shifted by one";
}

}  // namespace
