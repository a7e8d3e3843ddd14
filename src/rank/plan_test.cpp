#include "rank/plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

/// A type whose element is one character with a gap behind it.
constexpr sumac_layout kSpaced{.type = 1, .size = 1, .extent = 2, .true_lb = 0};

int pack(const void* user, std::size_t count, const sumac_layout* layout, void* bytes) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<char*>(bytes)[i] = static_cast<const char*>(user)[static_cast<std::ptrdiff_t>(i) * layout->extent];
  return 0;
}
int unpack(const void* bytes, void* user, std::size_t count, const sumac_layout* layout) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<char*>(user)[static_cast<std::ptrdiff_t>(i) * layout->extent] = static_cast<const char*>(bytes)[i];
  return 0;
}
constexpr sumac_packing kPacking{pack, unpack};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

class RankPlan : public ::testing::Test {
 protected:
  void begin(sumac_coll coll) { sumac_plan_begin(&plan_, coll); }
  /// Points the plan at memory of its own, and packs.
  void use() {
    memory_.reset(std::aligned_alloc(64, plan_.memory_bytes));
    sumac_plan_use(&plan_, memory_.get());
    ASSERT_EQ(sumac_plan_pack(&plan_, &kPacking), 0);
  }
  static std::string text(const void* at, std::size_t bytes) { return {static_cast<const char*>(at), bytes}; }

  sumac_plan plan_;
  std::unique_ptr<void, Free> memory_;
};

TEST_F(RankPlan, ARowIsPackedWithoutItsGapsAndReturnsWithoutTouchingThem) {
  std::string in = "a.b.c.", out = "......";
  begin(SUMAC_COLL_ALLGATHER);
  sumac_plan_pack_row(&plan_, &plan_.send, in.data(), 3, &kSpaced);
  sumac_plan_pack_row(&plan_, &plan_.receive, out.data(), 3, &kSpaced);
  use();
  EXPECT_EQ(text(plan_.call.in, 3), "abc");
  std::copy_n("xyz", 3, static_cast<char*>(plan_.call.out));
  ASSERT_EQ(sumac_plan_unpack(&plan_, &kPacking), 0);
  EXPECT_EQ(out, "x.y.z.");
}

TEST_F(RankPlan, BlocksFollowEachOtherWhenTheyArePacked) {
  std::string in = "..a.b.....c.";
  const int counts[] = {2, 0, 1}, displacements[] = {1, 0, 5};
  const sumac_blocks_t sized{counts, displacements, 1, 0};
  begin(SUMAC_COLL_SCATTERV);
  plan_.call.in_blocks = sized;
  sumac_plan_pack_blocks(&plan_, &plan_.send, in.data(), &sized, 3, &kSpaced);
  use();
  EXPECT_EQ(text(plan_.call.in, 3), "abc");
  const auto& packed = plan_.call.in_blocks;
  EXPECT_EQ(sumac_block_displacement(&packed, 2), 2);
  EXPECT_EQ(sumac_block_count(&packed, 0), 2);
}

TEST_F(RankPlan, InPlaceTheOwnBlockIsPackedWhereItIsReceived) {
  std::string both = "a.b.c.d.";
  begin(SUMAC_COLL_ALLGATHER);
  plan_.call.bytes = 2;
  sumac_plan_pack_row(&plan_, &plan_.receive, both.data(), 4, &kSpaced);
  sumac_plan_in_place(&plan_, 1, 2);
  use();
  EXPECT_EQ(plan_.call.in, plan_.call.out);
  EXPECT_EQ(text(static_cast<const char*>(plan_.call.out) + 2, 2), "cd");
}

TEST_F(RankPlan, AUsersElementsKeepTheirDistance) {
  std::string in = "a.b.", out = "____";
  begin(SUMAC_COLL_ALLREDUCE);
  plan_.own = {.fold = {}, .mpi_bytes = 2, .type = 1, .op = 1, .true_lb = 0, .true_extent = 1};
  sumac_plan_pack_with_gaps(&plan_, in.data(), 2, out.data(), 2, &kSpaced);
  use();
  EXPECT_EQ(text(plan_.call.in, 3), "a.b");
  std::copy_n("x?y", 3, static_cast<char*>(plan_.call.out));
  ASSERT_EQ(sumac_plan_unpack(&plan_, &kPacking), 0);
  EXPECT_EQ(out, "x_y_") << "the gaps are the user's";
}

TEST_F(RankPlan, MoreElementsWithGapsThanFitAtOnceReturnAsFew) {
  constexpr std::size_t kCount = 2 * SUMAC_ELEMENT_BYTES_MAX + 3;
  std::string in(2 * kCount, '.'), out(2 * kCount, '_'), expected = out;
  begin(SUMAC_COLL_ALLREDUCE);
  plan_.own = {.fold = {}, .mpi_bytes = 2, .type = 1, .op = 1, .true_lb = 0, .true_extent = 1};
  sumac_plan_pack_with_gaps(&plan_, in.data(), kCount, out.data(), kCount, &kSpaced);
  use();
  for (std::size_t i = 0; i < kCount; ++i) {
    expected[2 * i] = static_cast<char>('a' + i % 26);
    static_cast<char*>(plan_.call.out)[2 * i] = expected[2 * i];
  }
  ASSERT_EQ(sumac_plan_unpack(&plan_, &kPacking), 0);
  EXPECT_EQ(out, expected);
}

TEST_F(RankPlan, NumbersOutliveTheCallersArrays) {
  std::vector<int> counts{1, 2}, displacements{0, 4};
  std::vector<std::int64_t> numbers(SUMAC_PLAN_NUMBERS(2));
  begin(SUMAC_COLL_ALLGATHERV);
  EXPECT_FALSE(sumac_plan_has_numbers(&plan_));
  plan_.call.out_blocks = {counts.data(), displacements.data(), 1, 0};
  ASSERT_TRUE(sumac_plan_has_numbers(&plan_));
  sumac_plan_keep_numbers(&plan_, 2, numbers.data());
  counts = displacements = {9, 9};
  EXPECT_EQ(sumac_block_count(&plan_.call.out_blocks, 1), 2);
  EXPECT_EQ(sumac_block_displacement(&plan_.call.out_blocks, 1), 4);
}

}  // namespace
