// Every collective with every type, operation, size and form, by ranks as threads; the results are stated one element at a time.
#include "bindings/ucc/test_collective.hpp"

namespace sumac::ucc::test {
namespace {

TEST(Collectives, EveryTypeIsReducedByEveryOperationOrRefusedAtEveryRank) {
  World{}.run(3, [](Rank& rank) {
    for (const auto type : kTypes)
      for (int number = 0; number < UCC_OP_LAST; ++number) {
        const auto op = static_cast<ucc_reduction_op_t>(number);
        constexpr std::size_t kCount = 5;
        Vector in(type, kCount), out(type, kCount);
        for (std::size_t i = 0; i < kCount; ++i) in.set(i, given(rank.rank, i));
        auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
        args.src.info = info(in, type, kCount);
        args.dst.info = info(out, type, kCount);
        args.op = op;
        // The mean of equal elements is a whole number.
        if (op == UCC_OP_AVG)
          for (std::size_t i = 0; i < kCount; ++i) in.set(i, static_cast<int>(i));
        const bool may_run = is_defined(type, op);
        const ucc_status_t status = rank.run(args);
        // Which combinations of 16 to 64 bits there are beside the sure ones is src/reduce's affair.
        if (may_run || is_complex(type) || op == UCC_OP_MAXLOC || op == UCC_OP_MINLOC) {
          ASSERT_EQ(status, may_run ? UCC_OK : UCC_ERR_NOT_SUPPORTED) << "type " << (type >> 3) << " op " << op;
        }
        if (!may_run) continue;
        for (std::size_t i = 0; i < kCount; ++i)
          ASSERT_TRUE(out.is(i, op == UCC_OP_AVG ? static_cast<int>(i) : folded(op, rank.size, i)))
              << "type " << (type >> 3) << " op " << op << " element " << i;
      }
  });
}

TEST(Collectives, EveryCollectiveInEveryFormAndSize) {
  for (const int size : {1, 2, 3})
    World{}.run(size, [](Rank& rank) {
      // 4096 elements are beyond the small algorithms of shared memory, 70000 beyond one piece of it.
      for (const std::size_t count : {0, 1, 7, 4096, 70000})
        for (int bit = 0; bit < 16; ++bit)
          for (int form = 0; form < 6; ++form) {
            if (count > 4096 && form > 1) continue;
            const auto type = static_cast<ucc_coll_type_t>(UCC_BIT(bit));
            const int root = (form + bit) % rank.size;
            SCOPED_TRACE(testing::Message() << "collective " << bit << " count " << count << " form " << form);
            Case(rank, type, count, root, Form{(form & 1) != 0, form == 2 || form == 3, form > 3, form % 2 == 0}).run();
            if (testing::Test::HasFailure()) return;
          }
    });
}

/// Each has other buffers than the one before, and at times the same form.
TEST(Collectives, RepeatedWithOtherBuffers) {
  World{}.run(3, [](Rank& rank) {
    for (const auto type :
         {UCC_COLL_TYPE_ALLREDUCE, UCC_COLL_TYPE_BCAST, UCC_COLL_TYPE_ALLGATHER, UCC_COLL_TYPE_ALLTOALL})
      for (const std::size_t count : {7, 7, 8, 7, 0, 7})
        for (const int root : {0, 0, 1}) {
          SCOPED_TRACE(testing::Message() << type << " of " << count << " from " << root);
          Case(rank, type, count, root, Form{}).run();
        }
    // Neither a callback nor a mean is that of the sum before.
    for (const auto op : {UCC_OP_SUM, UCC_OP_AVG, UCC_OP_AVG, UCC_OP_SUM, UCC_OP_MAX}) {
      float in = 3, out = 0;
      auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
      args.src.info = {&in, 1, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST};
      args.dst.info = {&out, 1, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST};
      args.op = op;
      EXPECT_EQ(rank.run(args), UCC_OK);
      EXPECT_EQ(out, op == UCC_OP_SUM ? 9 : 3);
      int calls = 0;
      args.mask = UCC_COLL_ARGS_FIELD_CB;
      args.cb = {[](void* count, ucc_status_t) { ++*static_cast<int*>(count); }, &calls};
      EXPECT_EQ(rank.run(args), UCC_OK);
      EXPECT_EQ(calls, 1);
    }
  });
}

}  // namespace
}  // namespace sumac::ucc::test
