#include "fabricfile/units.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Units, numbers_with_a_unit_are_read) {
  EXPECT_EQ(parse_delay_ns("500us"), 500'000);
  EXPECT_EQ(parse_delay_ns("1.5 ms"), 1'500'000);
  EXPECT_EQ(parse_delay_ns("0"), 0);
  EXPECT_EQ(parse_rate_bits_per_s("200Mbit/s"), 200'000'000U);
  EXPECT_EQ(parse_rate_bits_per_s("0"), 0U);
  EXPECT_EQ(parse_size_bytes("32MiB"), 32U << 20);
}

TEST(Units, anything_else_is_refused_with_an_example) {
  const struct {
    const char* text;
    const char* message;
  } rows[] = {
      {"500", "'500' has no unit we know (ns, us, ms, s): write it like 500us"},
      {"500parsec", "'500parsec' has no unit we know (ns, us, ms, s): write it like 500us"},
      {"-1ms", "'-1ms' is not a number with a unit, like 500us"},
      {"soon", "'soon' is not a number with a unit, like 500us"},
      {"", "'' is not a number with a unit, like 500us"},
      {"nan", "'nan' is not a number with a unit, like 500us"},
      {"1e30s", "'1e30s' is too large"},
  };
  for (const auto& row : rows) {
    const auto result = parse_delay_ns(row.text);
    ASSERT_FALSE(result) << row.text;
    EXPECT_EQ(result.error().context, row.message);
  }
}

}  // namespace
}  // namespace sumac
