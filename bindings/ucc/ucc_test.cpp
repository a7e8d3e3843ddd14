#include "bindings/ucc/test_ranks.hpp"

namespace sumac::ucc::test {
namespace {

TEST(Ucc, RanksAddUp) {
  for (const int size : {1, 2, 3})
    World{}.run(size, [](Rank& rank) {
      std::int32_t in[3] = {rank.rank, 1, -rank.rank}, out[3] = {};
      auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
      args.src.info = {in, 3, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
      args.dst.info = {out, 3, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
      args.op = UCC_OP_SUM;
      EXPECT_EQ(rank.run(args), UCC_OK);
      const int sum = rank.size * (rank.size - 1) / 2;
      EXPECT_EQ(out[0], sum);
      EXPECT_EQ(out[1], rank.size);
      EXPECT_EQ(out[2], -sum);
    });
}

}  // namespace
}  // namespace sumac::ucc::test
