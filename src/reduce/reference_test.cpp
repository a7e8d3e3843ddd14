#include "reduce/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace sumac::reduce {
namespace {

// The reference is checked against values worked out by hand; other tests then check the kernels against the reference.

TEST(Reference, EveryFloat16AndBfloat16SurvivesTheWayThereAndBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto b = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(float16_nearest(float16_value(b)), std::isnan(float16_value(b)) ? 0x7e00 : b);
    ASSERT_EQ(bfloat16_nearest(bfloat16_value(b)), std::isnan(bfloat16_value(b)) ? 0x7fc0 : b);
  }
}

TEST(Reference, Bfloat16IsTheUpperHalfOfAFloat) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const std::uint32_t wide = bits << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bfloat16_value(static_cast<std::uint16_t>(bits)), value);
  }
}

TEST(Reference, RoundsToNearestEven) {
  EXPECT_EQ(float16_value(0x3c00), 1.0);
  EXPECT_EQ(float16_nearest(1 + 0x1p-11), 0x3c00) << "a tie goes to the even neighbour, down";
  EXPECT_EQ(float16_nearest(1 + 3 * 0x1p-11), 0x3c02) << "and up";
  EXPECT_EQ(float16_nearest(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(float16_nearest(65504), 0x7bff) << "the largest";
  EXPECT_EQ(float16_nearest(65519.99), 0x7bff);
  EXPECT_EQ(float16_nearest(65520), 0x7c00) << "half a unit more is infinity";
  EXPECT_EQ(float16_nearest(-1e300), 0xfc00);
  EXPECT_EQ(float16_nearest(0x1p-24), 0x0001) << "the smallest subnormal";
  EXPECT_EQ(float16_nearest(0x1p-25), 0x0000);
  EXPECT_EQ(float16_nearest(0x1p-25 * 1.01), 0x0001);
  EXPECT_EQ(float16_nearest(0x1p-14 - 0x1p-26), 0x0400) << "a subnormal may round up to the smallest normal";
  EXPECT_EQ(float16_nearest(-0.0), 0x8000);
  EXPECT_EQ(bfloat16_nearest(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(bfloat16_nearest(1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(bfloat16_nearest(0x1p-133), 0x0001);
  EXPECT_EQ(bfloat16_nearest(3.4e38), 0x7f80);
}

template <class T>
T once(Op op, Dtype dtype, T a, T b) {
  reference_reduce(op, dtype, Dtype::null, &a, &b, 1);
  return a;
}

TEST(Reference, IntegersWrapAndLogicIsZeroOrOne) {
  EXPECT_EQ(once<std::int8_t>(Op::sum, Dtype::int8, 127, 1), -128);
  EXPECT_EQ(once<std::uint8_t>(Op::prod, Dtype::uint8, 200, 3), 88);
  EXPECT_EQ(once<std::int16_t>(Op::prod, Dtype::int16, -32768, -1), -32768);
  EXPECT_EQ(once<std::int32_t>(Op::sum, Dtype::int32, INT32_MIN, -1), INT32_MAX);
  EXPECT_EQ(once<std::int64_t>(Op::sum, Dtype::int64, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(once<std::uint64_t>(Op::prod, Dtype::uint64, UINT64_MAX, UINT64_MAX), 1U);
  EXPECT_EQ(once<std::int64_t>(Op::max, Dtype::int64, -1, 1), 1);
  EXPECT_EQ(once<std::uint64_t>(Op::max, Dtype::uint64, UINT64_MAX, 1), UINT64_MAX);
  EXPECT_EQ(once<std::int32_t>(Op::land, Dtype::int32, 256, 0x10000), 1) << "not the bits, the truth";
  EXPECT_EQ(once<std::int32_t>(Op::band, Dtype::int32, 256, 0x10000), 0);
  EXPECT_EQ(once<std::uint16_t>(Op::lor, Dtype::uint16, 0, 512), 1);
  EXPECT_EQ(once<std::uint64_t>(Op::lxor, Dtype::uint64, 7, std::uint64_t{1} << 40), 0U);
  EXPECT_EQ(once<std::uint64_t>(Op::lxor, Dtype::uint64, 0, std::uint64_t{1} << 40), 1U);
}

TEST(Reference, FloatExtremes) {
  const float nan = std::nanf("1"), inf = std::numeric_limits<float>::infinity();
  const auto bits = [](float value) {
    std::uint32_t result;
    std::memcpy(&result, &value, sizeof result);
    return result;
  };
  for (const Op op : {Op::sum, Op::prod, Op::min, Op::max}) {
    EXPECT_EQ(bits(once(op, Dtype::float32, -nan, 1.0F)), 0x7fc00000U);
    EXPECT_EQ(bits(once(op, Dtype::float32, 1.0F, -nan)), 0x7fc00000U);
  }
  EXPECT_EQ(bits(once(Op::sum, Dtype::float32, inf, -inf)), 0x7fc00000U);
  EXPECT_EQ(bits(once(Op::min, Dtype::float32, 0.0F, -0.0F)), 0x80000000U);
  EXPECT_EQ(bits(once(Op::max, Dtype::float32, -0.0F, 0.0F)), 0U);
  EXPECT_EQ(once(Op::sum, Dtype::float32, 1e-45F, 1e-45F), 2 * 1.4012984643e-45F);
  // The client programs (tests/clients) test the 16-bit types in the same manner: tiny bit patterns add like integers.
  EXPECT_EQ(once<std::uint16_t>(Op::sum, Dtype::float16, 3, 4), 7);
  EXPECT_EQ(once<std::uint16_t>(Op::sum, Dtype::bfloat16, 3, 4), 7);
}

TEST(Reference, PairsInBothLayouts) {
  struct DoubleInt {
    double value;
    std::int32_t tag, rest;
  };
  const DoubleInt low_tag{1.0, 3, 77}, high_tag{1.0, 5, 88}, small{0.5, 9, 99}, nan{std::nan(""), 8, 0};
  const auto reduced = [](Op op, DoubleInt a, const DoubleInt& b) {
    reference_reduce(op, Dtype::float64, Dtype::null, &a, &b, 1);
    EXPECT_EQ(a.rest, 0);
    return a;
  };
  EXPECT_EQ(reduced(Op::minloc, high_tag, low_tag).tag, 3);
  EXPECT_EQ(reduced(Op::maxloc, high_tag, low_tag).tag, 3) << "the lower tag wins both ways";
  EXPECT_EQ(reduced(Op::minloc, low_tag, small).tag, 9);
  EXPECT_EQ(reduced(Op::maxloc, low_tag, small).tag, 3);
  EXPECT_EQ(reduced(Op::maxloc, low_tag, nan).tag, 8);
  EXPECT_EQ(reduced(Op::minloc, nan, low_tag).tag, 8);
  char packed[2][3] = {{5, 1, 0}, {5, 0, 1}};  // int8 value, uint16 tag: 1 and 256
  reference_reduce(Op::maxloc, Dtype::int8, Dtype::uint16, packed[1], packed[0], 1);
  EXPECT_EQ(packed[1][1], 1);
  EXPECT_EQ(packed[1][2], 0);
}

}  // namespace
}  // namespace sumac::reduce
