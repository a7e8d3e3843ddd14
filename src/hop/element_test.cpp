#include "hop/element.h"

#include <gtest/gtest.h>

#include "hop/test_pairs.hpp"

namespace sumac {
namespace {

TEST(HopElement, HasTheBitsOfTheReference) {
  Random random(41);
  for (unsigned d = 0; d < kDtypeCount; ++d)
    for (unsigned o = 0; o < kOpCount; ++o) {
      const Dtype dtype{static_cast<std::uint8_t>(d)};
      const Op op{static_cast<std::uint8_t>(o)};
      ASSERT_EQ(hop_combines(o, d), legal(dtype, op) && op != Op::prod && !is_pair(op)) << o << " " << d;
      if (!hop_combines(o, d)) continue;
      for (int i = 0; i < 5'000; ++i) {
        const auto [a, b] = test::draw_words(random, dtype);
        std::uint64_t right = a;
        reduce::reference_reduce(op, dtype, Dtype::null, &right, &b, 8 / width(dtype));
        ASSERT_EQ(hop_combine(o, d, a, b), right)
            << to_string(op) << " of " << to_string(dtype) << ": " << a << ", " << b;
      }
    }
}

TEST(HopElement, RefusesUnknownNumbers) {
  EXPECT_FALSE(hop_combines(static_cast<unsigned>(Op::sum), kDtypeCount));
  EXPECT_FALSE(hop_combines(kOpCount, 0));
}

}  // namespace
}  // namespace sumac
