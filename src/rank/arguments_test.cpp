#include "rank/arguments.h"

#include <gtest/gtest.h>

#include <vector>

#include "rank/profile.h"
#include "rank/record.h"

namespace {

// Handles of the MPI of these tests: types of one, and of four bytes; elements of two bytes with a gap behind; and no type.
constexpr std::uintptr_t kByte = 1, kInt = 4, kSpacedType = 7, kNoType = 99;
const char kInPlace = 0;
constexpr int kRoot = -3, kProcNull = -2;

const sumac_layout* layout(std::uintptr_t type, sumac_layout* room) {
  if (type == kNoType) return nullptr;
  const bool has_gaps = type == kSpacedType;
  const std::size_t size = has_gaps ? 2 : type;
  *room = {.type = type,
           .size = size,
           .extent = has_gaps ? 3 : static_cast<std::ptrdiff_t>(size),
           .true_lb = 0,
           .true_extent = static_cast<std::ptrdiff_t>(size),
           .row = -1,
           .is_dense = true,
           .is_flat = !has_gaps};
  return room;
}

class RankArguments : public ::testing::Test {
 protected:
  RankArguments() {
    runtime_.layout = layout;
    runtime_.in_place = &kInPlace;
    runtime_.root = kRoot;
    runtime_.proc_null = kProcNull;
    runtime_.handle_bytes = sizeof(std::uintptr_t);
    record_.runtime = &runtime_;
    record_.rank = 1;
    record_.size = 3;
  }

  sumac_planned plan(sumac_coll coll, const sumac_arguments& arguments) {
    return sumac_plan_make(&record_, &plan_, coll, &arguments);
  }
  std::uint64_t bytes(int coll, const sumac_arguments& arguments) const {
    return sumac_bytes_of(&runtime_, coll, &shape_, &arguments);
  }

  sumac_runtime runtime_{};
  sumac_record record_{};
  sumac_plan plan_{};
  sumac_shape shape_{.rank = 1, .size = 3, .peers = 3};
  char in_[64]{}, out_[64]{};
  const int counts_[3] = {1, 2, 4}, displacements_[3] = {0, 1, 3};
  const sumac_blocks_t sized_{counts_, displacements_, 0, 0};
};

TEST_F(RankArguments, EqualBlocksLieWhereTheyAre) {
  ASSERT_EQ(plan(SUMAC_COLL_ALLTOALL,
                 {.in = in_, .out = out_, .in_count = 8, .out_count = 2, .in_type = kByte, .out_type = kInt}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.in, in_);
  EXPECT_EQ(plan_.call.out, out_);
  EXPECT_EQ(plan_.call.bytes, 8);
  EXPECT_EQ(plan_.memory_bytes, 0);
}

TEST_F(RankArguments, InPlaceTheOwnBlockIsAmongThoseOfAll) {
  ASSERT_EQ(plan(SUMAC_COLL_ALLGATHER,
                 {.in = &kInPlace, .out = out_, .in_type = kNoType, .out_type = kInt, .out_blocks = {}, .root = 0}),
            SUMAC_PLANNED_NOTHING);  // There is no element.
  ASSERT_EQ(
      plan(SUMAC_COLL_ALLGATHER, {.in = &kInPlace, .out = out_, .out_count = 2, .in_type = kNoType, .out_type = kInt}),
      SUMAC_PLANNED);
  EXPECT_EQ(plan_.shared, SUMAC_IN_IS_OUT);
  EXPECT_EQ(plan_.call.in, out_);
}

TEST_F(RankArguments, ASideWithGapsIsPacked) {
  ASSERT_EQ(
      plan(SUMAC_COLL_ALLGATHER,
           {.in = in_, .out = out_, .in_count = 2, .out_count = 2, .in_type = kSpacedType, .out_type = kSpacedType}),
      SUMAC_PLANNED);
  EXPECT_TRUE(plan_.send.is_packed);
  EXPECT_EQ(plan_.send.count, 2);
  EXPECT_EQ(plan_.receive.count, 6);
  EXPECT_EQ(plan_.call.bytes, 4);
}

TEST_F(RankArguments, OneElementWithAGapBehindItIsNotPacked) {
  ASSERT_EQ(plan(SUMAC_COLL_BCAST, {.out = out_, .out_count = 1, .out_type = kSpacedType, .root = 0}), SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.out, out_);
  EXPECT_EQ(plan_.shared, SUMAC_SIDES_APART);
}

TEST_F(RankArguments, ABcastsRootSendsWhatItHas) {
  ASSERT_EQ(plan(SUMAC_COLL_BCAST, {.out = out_, .out_count = 2, .out_type = kSpacedType, .root = 1}), SUMAC_PLANNED);
  EXPECT_TRUE(plan_.send.is_packed);
  EXPECT_FALSE(plan_.receive.is_packed);
  EXPECT_EQ(plan_.shared, SUMAC_OUT_IS_IN);
}

/// A type that MPI calls not significant is never looked at: kNoType would be wrong.
TEST_F(RankArguments, ArgumentsThatAreNotSignificantAreNotRead) {
  EXPECT_EQ(plan(SUMAC_COLL_GATHER, {.in = in_, .in_count = 2, .in_type = kInt, .out_type = kNoType, .root = 0}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.out, nullptr);
  EXPECT_EQ(plan(SUMAC_COLL_GATHERV, {.in = in_, .in_count = 2, .in_type = kInt, .out_type = kNoType, .root = 0}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.bytes, 8);
  EXPECT_EQ(plan(SUMAC_COLL_SCATTER, {.out = out_, .out_count = 2, .in_type = kNoType, .out_type = kInt, .root = 0}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.in, nullptr);
  EXPECT_EQ(plan(SUMAC_COLL_SCATTER, {.in = in_,
                                      .out = const_cast<char*>(&kInPlace),
                                      .in_count = 2,
                                      .in_type = kInt,
                                      .out_type = kNoType,
                                      .root = 1}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.out, in_);
  EXPECT_EQ(plan(SUMAC_COLL_SCATTERV, {.in = in_,
                                       .out = const_cast<char*>(&kInPlace),
                                       .in_type = kInt,
                                       .out_type = kNoType,
                                       .in_blocks = sized_,
                                       .root = 1}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.bytes, 8);
  EXPECT_EQ(plan(SUMAC_COLL_ALLTOALLV,
                 {.in = &kInPlace, .out = out_, .in_type = kNoType, .out_type = kInt, .out_blocks = sized_}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.in_blocks.counts, counts_);
}

TEST_F(RankArguments, ARankWithoutDataSendsFromAnAddressOfItsOwn) {
  const int counts[] = {1, 0, 4};
  ASSERT_EQ(plan(SUMAC_COLL_ALLGATHERV, {.in = nullptr,
                                         .out = out_,
                                         .in_type = kInt,
                                         .out_type = kInt,
                                         .out_blocks = {counts, displacements_, 0, 0}}),
            SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.in, sumac_plan_no_data);
  ASSERT_EQ(
      plan(SUMAC_COLL_ALLTOALLV,
           {.in = out_, .out = out_, .in_type = kInt, .out_type = kInt, .in_blocks = sized_, .out_blocks = sized_}),
      SUMAC_PLANNED);
  EXPECT_EQ(plan_.call.in, sumac_plan_no_data);
}

TEST_F(RankArguments, TheMpiFindsMistakes) {
  const int negative[] = {1, -2, 4};
  const struct {
    const char* name;
    sumac_coll coll;
    sumac_arguments arguments;
  } rows[] = {
      {"a root that is no rank", SUMAC_COLL_BCAST, {.out = out_, .out_count = 1, .out_type = kInt, .root = 3}},
      {"a negative root", SUMAC_COLL_REDUCE, {.out = out_, .out_count = 1, .out_type = kInt, .root = -1}},
      {"no type", SUMAC_COLL_BCAST, {.out = out_, .out_count = 1, .out_type = kNoType}},
      {"a negative count",
       SUMAC_COLL_ALLGATHER,
       {.in = in_, .out = out_, .in_count = -1, .out_count = 1, .in_type = kInt, .out_type = kInt}},
      {"a negative count of a block",
       SUMAC_COLL_ALLGATHERV,
       {.in = in_,
        .out = out_,
        .in_count = 1,
        .in_type = kInt,
        .out_type = kInt,
        .out_blocks = {negative, displacements_, 0, 0}}},
      {"no counts",
       SUMAC_COLL_ALLTOALLV,
       {.in = in_, .out = out_, .in_type = kInt, .out_type = kInt, .in_blocks = {}, .out_blocks = sized_}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(plan(row.coll, row.arguments), SUMAC_PLANNED_WRONG);
  }
}

TEST_F(RankArguments, AProfileCountsWhatARankGives) {
  const std::uintptr_t types[] = {kByte, kInt, kInt};
  const sumac_arguments blocks{
      .in = in_, .out = out_, .in_count = 2, .out_count = 8, .in_type = kInt, .out_type = kByte};
  sumac_arguments in_place = blocks, at_root = blocks, nobodys = blocks, scatters_in_place = blocks;
  in_place.in = &kInPlace;
  in_place.out_count = 5;
  at_root.root = kRoot;
  nobodys.root = kProcNull;
  scatters_in_place.out = const_cast<char*>(&kInPlace);
  const sumac_arguments sized{.in = in_,
                              .out = out_,
                              .in_count = 3,
                              .in_type = kInt,
                              .out_type = kByte,
                              .in_blocks = sized_,
                              .out_blocks = sized_},
      each{.in = in_, .in_blocks = sized_, .out_blocks = sized_, .in_types = types, .out_types = types},
      sums{.in = in_, .out = out_, .out_type = kInt, .out_blocks = {counts_, nullptr, 0, 0}};
  const struct {
    const char* name;
    int coll;
    const sumac_arguments& arguments;
    std::uint64_t bytes;
  } rows[] = {
      {"a barrier has none", SUMAC_COLL_BARRIER, blocks, 0},
      {"a reduction", SUMAC_COLL_ALLREDUCE, blocks, 8},
      {"a scan", SUMAC_COLL_SCAN, blocks, 8},
      {"a bcast nobody takes part in", SUMAC_COLL_BCAST, nobodys, 0},
      {"a block for each rank", SUMAC_COLL_ALLTOALL, blocks, 24},
      {"in place what it receives", SUMAC_COLL_ALLGATHER, in_place, 5},
      {"a vector of blocks", SUMAC_COLL_REDUCE_SCATTER_BLOCK, blocks, 24},
      {"a vector of sized blocks", SUMAC_COLL_REDUCE_SCATTER, sums, 28},
      {"the root's own group gives nothing", SUMAC_COLL_GATHER, at_root, 0},
      {"a scatter counts what it receives", SUMAC_COLL_SCATTER, blocks, 8},
      {"in place at the root its own block", SUMAC_COLL_SCATTER, scatters_in_place, 8},
      {"sized blocks to all", SUMAC_COLL_ALLTOALLV, sized, 28},
      {"sized blocks of types of their own", SUMAC_PROFILE_ALLTOALLW, each, 1 + 8 + 16},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(bytes(row.coll, row.arguments), row.bytes);
  }
  shape_.peers = 1;  // In an intercommunicator.
  EXPECT_EQ(bytes(SUMAC_COLL_ALLTOALLV, sized), 4);
}

}  // namespace
