// The figures of a network are found again from the times that the methods take on it.
#include "cost/fit.hpp"

#include <gtest/gtest.h>

namespace sumac::cost {
namespace {

constexpr Machine kNarrow{
    .trip_s = 330e-6, .message_s = 170e-6, .per_byte_s = 43e-9, .mesh_byte_s = 95e-9, .short_byte_s = 98e-9};

Timings timed(const Machine& machine, std::uint32_t n) {
  const double block = 65536, longest = 16384;
  return {.members = n,
          .barrier_in_rounds = seconds(dissemination(n), machine),
          .barrier_at_once = seconds(exchange(n, 0), machine),
          .block = block,
          .ring = seconds(ring_of_blocks(n, block), machine) + machine.trip_s,
          .mesh = seconds(exchange(n, block), machine) + machine.trip_s,
          .longest = longest,
          .doubling_of_longest = rounds(n) * (machine.trip_s + longest * machine.short_byte_s)};
}

TEST(Fit, FindsTheMachineThatTookTheseTimes) {
  for (const std::uint32_t n : {3u, 8u, 13u, 64u}) {
    SCOPED_TRACE(n);
    const Machine found = fitted(timed(kNarrow, n));
    EXPECT_NEAR(found.trip_s, kNarrow.trip_s, 1e-12);
    EXPECT_NEAR(found.message_s, kNarrow.message_s, 1e-12);
    EXPECT_NEAR(found.per_byte_s, kNarrow.per_byte_s, 1e-15);
    EXPECT_NEAR(found.mesh_byte_s, kNarrow.mesh_byte_s, 1e-15);
    EXPECT_NEAR(found.short_byte_s, kNarrow.short_byte_s, 1e-15);
  }
}

TEST(Fit, TheRateOfAnInterfaceCountsWhereItIsKnown) {
  auto timings = timed(kNarrow, 8);
  timings.ring.reset();
  timings.rate_bits_per_s = 1'000'000'000;
  EXPECT_DOUBLE_EQ(fitted(timings).per_byte_s, 8e-9);
}

TEST(Fit, NothingIsFasterThanAClockCanTell) {
  const Machine found = fitted({.members = 2, .block = 1 << 20, .ring = 0.0, .longest = 16384});
  EXPECT_DOUBLE_EQ(found.trip_s, 1e-6);
  EXPECT_DOUBLE_EQ(found.message_s, 0.2e-6);
  EXPECT_DOUBLE_EQ(found.per_byte_s, 1e-12);
  EXPECT_GE(found.mesh_byte_s, found.per_byte_s);
}

}  // namespace
}  // namespace sumac::cost
