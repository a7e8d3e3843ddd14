#include "base/types.hpp"

#include <gtest/gtest.h>

namespace sumac {
namespace {

TEST(Types, EverythingHasANameAndAWidth) {
  for (unsigned d = 0; d < kDtypeCount; ++d) {
    EXPECT_NE(to_string(static_cast<Dtype>(d)), "?");
    EXPECT_NE(width(static_cast<Dtype>(d)), 0U);
  }
  for (unsigned o = 0; o < kOpCount; ++o) EXPECT_NE(to_string(static_cast<Op>(o)), "?");
  EXPECT_EQ(width(Dtype::null), 0U);
  EXPECT_EQ(to_string(static_cast<Dtype>(200)), "?");
  EXPECT_FALSE(is_dtype(12));
  EXPECT_FALSE(is_op(12));
}

TEST(Types, LegalPairs) {
  int pairs = 0;
  for (unsigned d = 0; d < 256; ++d)
    for (unsigned o = 0; o < 256; ++o) pairs += legal(static_cast<Dtype>(d), static_cast<Op>(o));
  EXPECT_EQ(pairs, 8 * 12 + 4 * 6);
  EXPECT_FALSE(legal(Dtype::float32, Op::band));
  EXPECT_TRUE(legal(Dtype::bfloat16, Op::minloc));
  EXPECT_FALSE(legal(Dtype::null, Op::sum));
  EXPECT_FALSE(legal(Dtype::int32, Op::null));
}

TEST(Types, ElementsOfBothPairLayouts) {
  EXPECT_EQ(element_bytes(Dtype::float32, Op::sum), 4U);
  EXPECT_EQ(element_bytes(Dtype::float32, Op::sum, Dtype::int8), 4U) << "only pairs look at the tag type";
  EXPECT_EQ(element_bytes(Dtype::float32, Op::minloc), 8U);
  EXPECT_EQ(element_bytes(Dtype::float64, Op::maxloc), 16U);
  EXPECT_EQ(element_bytes(Dtype::int16, Op::maxloc), 8U) << "as C's struct of a short and an int";
  EXPECT_EQ(element_bytes(Dtype::int16, Op::maxloc, Dtype::int32), 6U);
  EXPECT_EQ(element_bytes(Dtype::float64, Op::maxloc, Dtype::uint8), 9U);
  EXPECT_EQ(element_bytes(Dtype::float32, Op::maxloc, Dtype::float32), 8U) << "as Fortran's MPI_2REAL";
  EXPECT_EQ(element_bytes(Dtype::float64, Op::minloc, Dtype::float64), 16U) << "as MPI_2DOUBLE_PRECISION";
  EXPECT_EQ(element_bytes(Dtype::float64, Op::maxloc, Dtype::float32), 0U) << "a float tag has the value's type";
  EXPECT_EQ(element_bytes(Dtype::int32, Op::maxloc, Dtype::float32), 0U);
  EXPECT_EQ(element_bytes(Dtype::float16, Op::maxloc, Dtype::float16), 0U);
  EXPECT_EQ(element_bytes(Dtype::float16, Op::lor), 0U);
}

}  // namespace
}  // namespace sumac
