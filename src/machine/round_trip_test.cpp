#include "machine/round_trip.hpp"

#include <gtest/gtest.h>

#include "machine/cpu_share.hpp"

namespace sumac::machine {
namespace {

TEST(RoundTrip, two_cpus_answer_each_other) {
  const auto cpus = own_affinity().numbers();
  if (cpus.size() < 2) GTEST_SKIP() << "one cpu only";
  const auto ns = cache_line_round_trip_ns(cpus[0], cpus[1], 200);
  if (!ns && ns.error().code == Errc::timeout) GTEST_SKIP() << ns.error().context;  // Another process occupies the cpu.
  ASSERT_TRUE(ns) << ns.error().context;
  EXPECT_GT(*ns, 0);
}

TEST(RoundTrip, what_cannot_be_measured_is_refused) {
  const struct {
    std::int32_t a, b;
    std::uint32_t rounds;
  } rows[] = {{0, 0, 10}, {-1, 0, 10}, {0, 100000, 10}, {0, 1, 0}};
  for (const auto& row : rows) {
    const auto ns = cache_line_round_trip_ns(row.a, row.b, row.rounds);
    ASSERT_FALSE(ns);
    EXPECT_EQ(ns.error().code, Errc::invalid);
  }
  const auto nowhere = cache_line_round_trip_ns(own_affinity().numbers().front(), 1023, 10);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::denied) << nowhere.error().context;
}

}  // namespace
}  // namespace sumac::machine
