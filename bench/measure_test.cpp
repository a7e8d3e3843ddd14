#include "bench/measure.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

TEST(Measure, SummariesOfSmallSamples) {
  const struct {
    const char* name;
    std::vector<double> values;
    double median, min, max, p90;
  } rows[] = {
      {"one value is everything", {3}, 3, 3, 3, 3},
      {"an even number: the mean of the middle two", {4, 1, 3, 2}, 2.5, 1, 4, 4},
      {"an odd number: the middle one, whatever the order", {9, 1, 5}, 5, 1, 9, 9},
      {"p90 of ten is the ninth", {10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 1, 10, 9},
      {"p90 of eleven is the tenth", {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 6, 1, 11, 10},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto values = row.values;
    const auto s = bench_summarise(values.data(), values.size());
    EXPECT_EQ(s.median, row.median);
    EXPECT_EQ(s.min, row.min);
    EXPECT_EQ(s.max, row.max);
    EXPECT_EQ(s.p90, row.p90);
  }
}

TEST(Measure, AnIterationIsTheMeanOverRanksAndWarmUpIsDropped) {
  const std::int64_t ns[2][3] = {{9'000'000, 1'000'000, 3'000'000}, {9'000'000, 3'000'000, 5'000'000}};
  double ms[2] = {};
  bench_mean_over_ranks_ms(&ns[0][0], 2, 3, /*first=*/1, /*iterations=*/2, ms);
  EXPECT_EQ(ms[0], 2);
  EXPECT_EQ(ms[1], 4);
}

TEST(Measure, WarmUpIsATenthAndAtLeastFive) {
  EXPECT_EQ(bench_default_warmup(5), 5);
  EXPECT_EQ(bench_default_warmup(50), 5);
  EXPECT_EQ(bench_default_warmup(51), 6);
  EXPECT_EQ(bench_default_warmup(200), 20);
  EXPECT_EQ(bench_default_iterations(64 << 10), 200);
  EXPECT_EQ(bench_default_iterations((64 << 10) + 1), 10);
  EXPECT_EQ(bench_default_iterations(16 << 20), 10);
  EXPECT_EQ(bench_default_iterations((16 << 20) + 1), 5);
}

TEST(Measure, Sizes) {
  std::size_t bytes = 0;
  for (const auto& [text, expected] : std::vector<std::pair<const char*, std::size_t>>{{"0", 0},
                                                                                       {"8", 8},
                                                                                       {"64K", 65536},
                                                                                       {"64KiB", 65536},
                                                                                       {"64kb", 65536},
                                                                                       {"16M", 16u << 20},
                                                                                       {"1G", 1u << 30},
                                                                                       {"8b", 8}}) {
    EXPECT_EQ(bench_parse_bytes(text, &bytes), 0) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
  for (const char* text : {"", "K", "8x", "-1", " 8", "1.5K", "8 K", "99999999999999999999", "99999999999G"})
    EXPECT_NE(bench_parse_bytes(text, &bytes), 0) << text;
}

TEST(Measure, ASpanLastsFromTheLastBeginToTheLastEndOfThoseThatCount) {
  // Two ranks do three iterations, of which the first is warm-up; in the third, only rank 1 begins and only rank 0 ends.
  const std::int64_t begin[] = {0, 1'000'000, 0, 0, 3'000'000, 5'000'000};
  const std::int64_t end[] = {0, 9'000'000, 6'500'000, 0, 7'000'000, 0};
  double ms[2];
  bench_span_over_ranks_ms(begin, end, 2, 3, 1, 2, ms);
  EXPECT_DOUBLE_EQ(ms[0], 6);
  EXPECT_DOUBLE_EQ(ms[1], 1.5);
}

TEST(Measure, NobodySleepsForWhatIsOver) {
  const auto now = bench_now_ns();
  bench_sleep_until_ns(now + 1'000'000);
  EXPECT_GE(bench_now_ns(), now + 1'000'000);
  bench_sleep_until_ns(now);
}

TEST(Measure, Cases) {
  bench_case c;
  char error[256];
  ASSERT_EQ(bench_parse_case("allreduce:8,1K:50:5", &c, error, sizeof error), 0);
  EXPECT_STREQ(c.name, "allreduce");
  EXPECT_EQ(c.size_count, 2);
  EXPECT_EQ(c.sizes[1], 1024u);
  EXPECT_EQ(c.iterations, 50);
  EXPECT_EQ(c.warmup, 5);
  ASSERT_EQ(bench_parse_case("barrier", &c, error, sizeof error), 0);
  EXPECT_EQ(c.size_count, 1);
  EXPECT_EQ(c.sizes[0], 0u);
  EXPECT_EQ(c.iterations, -1);
  ASSERT_EQ(bench_parse_case("barrier::7", &c, error, sizeof error), 0);
  EXPECT_EQ(c.iterations, 7);
  for (const char* text :
       {"", ":8", "allreduce:8,:3", "allreduce:8:0", "allreduce:8:x", "allreduce:8:3:-1", "a:8:3:1:9", "a:8:3:"}) {
    error[0] = '\0';
    EXPECT_EQ(bench_parse_case(text, &c, error, sizeof error), -1) << text;
    EXPECT_NE(std::string(error).find(text), std::string::npos) << "the error names the text: " << error;
  }
}

}  // namespace
