// The calls that a team leaves to the next module are counted by reason, with what they asked for.
#include "team/left.hpp"

#include <gtest/gtest.h>

namespace sumac::team {
namespace {

/// Takes allreduces of up to 100 bytes whose operation it knows.
class SmallTree final : public coll::Across {
 public:
  bool takes(coll::Kind kind, std::size_t bytes, const coll::Fold* fold) const noexcept override {
    return kind == coll::Kind::allreduce && bytes <= 100 && fold->op != Op::null;
  }
  std::string why_not(coll::Kind, std::size_t, const coll::Fold*) const override { return ""; }
  Progress start(const coll::Operation&, void*&) override { return Progress::failed; }
  Progress test(void*) override { return Progress::failed; }
  std::string_view error() const noexcept override { return ""; }
};

const coll::Fold kKnown{.dtype = Dtype::int32, .op = Op::max};
const coll::Fold kOther{.type_name = "MPI_LONG_DOUBLE", .op_name = "MPI_SUM"};

coll::Operation allreduce(std::size_t bytes, const coll::Fold& fold) {
  return {.kind = coll::Kind::allreduce, .bytes = bytes, .fold = &fold};
}

TEST(Left, the_reason_is_what_the_tree_does_not_take) {
  const SmallTree tree;
  const coll::Operation bcast{.kind = coll::Kind::bcast, .bytes = 8};
  const struct {
    const char* name;
    Why why;
    const coll::Across* tree;
    coll::Operation operation;
    sumac_left left;
  } rows[] = {
      {"too large", Why::nothing_inside, &tree, allreduce(101, kKnown), SUMAC_LEFT_SIZE},
      {"a type that it lacks", Why::nothing_inside, &tree, allreduce(8, kOther), SUMAC_LEFT_TYPE},
      {"a type that it lacks, of any size", Why::no_across, &tree, allreduce(101, kOther), SUMAC_LEFT_TYPE},
      {"a collective that it does not do", Why::nothing_inside, &tree, bcast, SUMAC_LEFT_COLL},
      {"no tree", Why::nothing_inside, nullptr, allreduce(8, kKnown), SUMAC_LEFT_COLL},
      {"switched off", Why::disabled, &tree, allreduce(8, kKnown), SUMAC_LEFT_OFF},
      {"slower here", Why::next_is_faster, nullptr, allreduce(8, kKnown), SUMAC_LEFT_FASTER},
      {"large blocks", Why::no_hierarchy, nullptr, allreduce(8, kKnown), SUMAC_LEFT_SIZE},
      {"more than an int counts", Why::too_many_bytes, nullptr, allreduce(8, kKnown), SUMAC_LEFT_SIZE},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(why_left(row.why, row.tree, row.operation), row.left);
  }
}

TEST(Left, equal_calls_share_a_row) {
  LeftCalls calls;
  calls.note(allreduce(16, kOther), SUMAC_LEFT_TYPE);
  calls.note(allreduce(64, kOther), SUMAC_LEFT_TYPE);
  calls.note(allreduce(32, kOther), SUMAC_LEFT_TYPE);
  calls.note(allreduce(4096, kKnown), SUMAC_LEFT_SIZE);
  calls.note({.kind = coll::Kind::barrier}, SUMAC_LEFT_OFF);
  ASSERT_EQ(calls.rows().size(), 3u);
  const auto& others = calls.rows()[0];
  EXPECT_EQ(others.calls, 3u);
  EXPECT_EQ(others.bytes_min, 16u);
  EXPECT_EQ(others.bytes_max, 64u);
  EXPECT_STREQ(others.type_name, "MPI_LONG_DOUBLE");
  EXPECT_STREQ(others.op_name, "MPI_SUM");
  EXPECT_STREQ(calls.rows()[1].type_name, "int32") << "where the binding gives no names, those of the kernel";
  EXPECT_STREQ(calls.rows()[1].op_name, "max");
  EXPECT_STREQ(calls.rows()[2].type_name, "");
}

}  // namespace
}  // namespace sumac::team
