// Each type of MPI's table gets the kernel that agrees with its layout in memory, and no other.
#include "rank/predefined.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "sharp/api/sharp_coll.h"
#include "team/c_types.hpp"

namespace {

/// C's and Fortran's pairs have this layout.
template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

/// Returns the index that wins; -1: there is no kernel.
template <class Value, class Index>
Index winner(sumac_values values, std::size_t data_bytes, int op, Pair<Value, Index> a, Pair<Value, Index> b) {
  sumac_fold_t fold;
  if (!sumac_predefined_fold(&fold, values, op, data_bytes, sizeof a)) return -1;
  Pair<Value, Index> out{};
  sumac::team::fold_of(&fold)->combine(&out, &a, &b, 1);
  EXPECT_EQ(out.value, out.index == a.index ? a.value : b.value) << "value and index stay together";
  return out.index;
}

template <class Value, class Index>
void expect_pairs(sumac_values values, std::size_t data_bytes = sizeof(Value) + sizeof(Index)) {
  using Of = Pair<Value, Index>;
  const Of low{1, 30}, high{5, 20}, again{5, 7};
  EXPECT_EQ(winner(values, data_bytes, SHARP_OP_MINLOC, low, high), 30);
  EXPECT_EQ(winner(values, data_bytes, SHARP_OP_MAXLOC, low, high), 20);
  EXPECT_EQ(winner(values, data_bytes, SHARP_OP_MAXLOC, high, again), 7) << "the lower index of equal values";
  EXPECT_EQ(winner(values, data_bytes, SHARP_OP_MINLOC, again, high), 7);
  sumac_fold_t fold;
  EXPECT_FALSE(sumac_predefined_fold(&fold, values, SHARP_OP_SUM, data_bytes, sizeof(Of))) << "MPI has no such sum";
}

TEST(Predefined, PairsOfC) {
  expect_pairs<short, int>(SUMAC_INTEGER_AND_INT);
  expect_pairs<int, int>(SUMAC_INTEGER_AND_INT);
  expect_pairs<long, int>(SUMAC_INTEGER_AND_INT);
  expect_pairs<float, int>(SUMAC_REAL_AND_INT);
  expect_pairs<double, int>(SUMAC_REAL_AND_INT);
}

TEST(Predefined, PairsOfFortranHaveAnIndexOfTheirValuesType) {
  expect_pairs<std::int32_t, std::int32_t>(SUMAC_TWO_INTEGERS);
  expect_pairs<std::int64_t, std::int64_t>(SUMAC_TWO_INTEGERS);  // INTEGER has 8 bytes with -fdefault-integer-8.
  expect_pairs<float, float>(SUMAC_TWO_REALS);
  expect_pairs<double, double>(SUMAC_TWO_REALS);
}

TEST(Predefined, AFloatingPointIndexIsComparedAsANumber) {
  using Of = Pair<float, float>;
  EXPECT_EQ(winner(SUMAC_TWO_REALS, 8, SHARP_OP_MINLOC, Of{1, -3}, Of{1, -2}), -3);
  EXPECT_EQ(winner(SUMAC_TWO_REALS, 8, SHARP_OP_MINLOC, Of{1, 0.5F}, Of{1, -2}), -2);
  EXPECT_EQ(winner(SUMAC_TWO_REALS, 8, SHARP_OP_MAXLOC, Of{1, 1e30F}, Of{1, 0.5F}), 0.5F);
}

TEST(Predefined, WhereNoKernelFitsThereIsNone) {
  sumac_fold_t fold;
  const auto has = [&](sumac_values values, int op, std::size_t size, std::size_t extent) {
    return sumac_predefined_fold(&fold, values, op, size, extent);
  };
  EXPECT_FALSE(has(SUMAC_REAL_AND_INT, SHARP_OP_MAXLOC, sizeof(long double) + 4, 2 * sizeof(long double)));
  EXPECT_FALSE(has(SUMAC_REALS, SHARP_OP_SUM, sizeof(long double), sizeof(long double)));
  EXPECT_FALSE(has(SUMAC_LOGICALS, SHARP_OP_LAND, 4, 4)) << "the compiler decides which bits are true";
  EXPECT_FALSE(has(SUMAC_COMPLEX_NUMBERS, SHARP_OP_PROD, 16, 16));
  EXPECT_TRUE(has(SUMAC_COMPLEX_NUMBERS, SHARP_OP_SUM, 16, 16));
  EXPECT_EQ(fold.element_bytes, 8u);
  EXPECT_FALSE(has(SUMAC_REAL_AND_INT, SHARP_OP_MAXLOC, 12, 12)) << "an ABI that packs its structs";
  EXPECT_FALSE(has(SUMAC_BYTES, SHARP_OP_SUM, 1, 1));
  EXPECT_TRUE(has(SUMAC_BYTES, SHARP_OP_BOR, 1, 1));
}

}  // namespace
