#include "rank/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

/// Subtraction, so that the operands cannot change places; the context counts the calls.
void subtract(const void* context, const void* in, void* inout, int count) {
  ++*static_cast<int*>(const_cast<void*>(context));
  const auto* from = static_cast<const std::int64_t*>(in);
  auto* to = static_cast<std::int64_t*>(inout);
  for (int i = 0; i < count; ++i) to[i] = from[i] - to[i];
}

void fold(const sumac_fold_t* self, void* out, const void* a, const void* b, std::size_t count) {
  sumac_fold_by_local(self, out, a, b, count, subtract);
}

enum class Out { apart, first, second };

class ByLocal : public testing::TestWithParam<Out> {};

TEST_P(ByLocal, TheResultMayTakeThePlaceOfEitherOperand) {
  for (const std::size_t count : {1, 3, 2048, 2049, 10000}) {
    int calls = 0;
    sumac_fold_t subtraction;
    ASSERT_EQ(sumac_fold_custom(&subtraction, sizeof(std::int64_t), fold, &calls), SUMAC_TEAM_OK);
    std::vector<std::int64_t> a(count), b(count), own(count), want(count);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<std::int64_t>(i * 7);
      b[i] = static_cast<std::int64_t>(i * i);
      want[i] = a[i] - b[i];
    }
    auto& out = GetParam() == Out::apart ? own : GetParam() == Out::first ? a : b;
    subtraction.function(&subtraction, out.data(), a.data(), b.data(), count);
    EXPECT_EQ(out, want) << count << " elements";
    EXPECT_GE(calls, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ByLocal, testing::Values(Out::apart, Out::first, Out::second));

/// A function of a program may look at the whole of an element, as ScaLAPACK's do, so no element is ever cut.
TEST(ByLocalElements, AreNeverCut) {
  int calls = 0;
  sumac_fold_t wide;
  ASSERT_EQ(sumac_fold_custom(&wide, 8192, fold, &calls), SUMAC_TEAM_OK);
  std::vector<std::int64_t> a(5 * 1024, 9), b(5 * 1024, 4);
  sumac_fold_by_local(
      &wide, a.data(), a.data(), b.data(), 5,
      [](const void* context, const void* in, void* inout, int count) { subtract(context, in, inout, count * 1024); });
  EXPECT_EQ(std::count(a.begin(), a.end(), 5), 5 * 1024);
  EXPECT_EQ(calls, 3);
}

/// A larger element could not be kept where the result takes the place of the first operand: the loop would never end.
TEST(ByLocalElements, AreAtMostAsLargeAsTheFunctionCanKeep) {
  int calls = 0;
  sumac_fold_t made;
  EXPECT_EQ(sumac_fold_custom(&made, 0, fold, &calls), SUMAC_TEAM_INVALID);
  EXPECT_EQ(sumac_fold_custom(&made, SUMAC_ELEMENT_BYTES_MAX + 1, fold, &calls), SUMAC_TEAM_INVALID);
  ASSERT_EQ(sumac_fold_custom(&made, SUMAC_ELEMENT_BYTES_MAX, fold, &calls), SUMAC_TEAM_OK);
  constexpr std::size_t kNumbers = SUMAC_ELEMENT_BYTES_MAX / sizeof(std::int64_t);
  std::vector<std::int64_t> a(2 * kNumbers, 9), b(2 * kNumbers, 4);
  sumac_fold_by_local(&made, a.data(), a.data(), b.data(), 2,
                      [](const void* context, const void* in, void* inout, int count) {
                        subtract(context, in, inout, count * static_cast<int>(kNumbers));
                      });
  EXPECT_EQ(a, std::vector<std::int64_t>(2 * kNumbers, 5));
}

}  // namespace
