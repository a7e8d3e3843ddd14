#include "base/log2_histogram.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sumac {
namespace {

TEST(Log2Histogram, a_bound_belongs_to_the_bucket_below_it) {
  EXPECT_EQ(Log2Histogram::bucket_of(0), 0U);
  EXPECT_EQ(Log2Histogram::bucket_of(1), 0U);
  for (std::size_t i = 1; i < 63; ++i) {
    const auto bound = std::uint64_t{1} << i;
    EXPECT_EQ(Log2Histogram::bucket_of(bound), i);
    EXPECT_EQ(Log2Histogram::bucket_of(bound + 1), i + 1);
  }
}

TEST(Log2Histogram, the_longest_duration_has_a_bucket) {
  Log2Histogram all;
  all.add(Duration::max());
  EXPECT_EQ(all.counts[63], 1U);
  EXPECT_EQ(all.sum_ns, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

TEST(Log2Histogram, a_negative_duration_counts_as_none) {
  Log2Histogram all;
  all.add(Nanos{-5});
  all.add(Nanos{1000});
  EXPECT_EQ(all.counts[0], 1U);
  EXPECT_EQ(all.counts[10], 1U);
  EXPECT_EQ(all.sum_ns, 1000U);
  EXPECT_EQ(all.count(), 2U);
}

}  // namespace
}  // namespace sumac
