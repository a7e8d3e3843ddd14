// Every collective in every form, among ranks of one host and of several.
#include <cstdlib>
#include <string>

#include "bindings/hcoll/test_collective.hpp"

namespace sumac::hcoll::test {
namespace {

void run_all(Client& client, void* context, const std::vector<std::size_t>& counts) {
  for (const std::size_t count : counts)
    for (int coll = 0; coll < kColls; ++coll)
      for (int form = 0; form < 4; ++form) {
        const Case one{static_cast<Coll>(coll), count,   &kInt, HCOL_OP_SUM, form % 2 == 0 ? 0 : client.size - 1,
                       (form & 1) != 0,         form > 1};
        if (one.waits && !is_nonblocking_too(one.coll)) continue;
        SCOPED_TRACE(testing::Message() << "collective " << coll << " count " << count << " form " << form);
        one.run(context, client.rank, client.size);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Collectives, OfOneHost) {
  run("aaa", [](Client& client, void* context) {
    run_all(client, context, {0, 1, 3, 64, 1025, 16384, 70001});
    EXPECT_EQ(client.freed, 0);
  });
}

TEST(Collectives, OfEachTypeAndOperation) {
  run("aaaa", [](Client& client, void* context) {
    for (const Type& type : kTypes)
      for (hcoll_dte_op_t* op : kOps)
        for (int coll = 0; coll < kColls; ++coll) {
          Case one{static_cast<Coll>(coll), 5, &type, op, 1, (coll + op->id) % 2 != 0};
          if (!is_reduction(one.coll)) {
            if (op != HCOL_OP_SUM) continue;
          } else if (!has_fold(type, *op)) {
            int in[64] = {}, out[64] = {}, counts[4] = {1, 1, 1, 1};
            EXPECT_EQ(one.coll == Coll::reduce_scatter
                          ? hcoll_collectives.coll_reduce_scatter(in, out, counts, *type.dte, op, context)
                          : hcoll_collectives.coll_allreduce(in, out, 1, *type.dte, op, context),
                      HCOLL_ERR_NOT_SUPPORTED);
            continue;
          }
          SCOPED_TRACE(testing::Message() << "collective " << coll << " of " << hcoll_dte_dtype_name(*type.dte)
                                          << " by " << hcoll_dte_op_name(op));
          one.run(context, client.rank, client.size);
          if (testing::Test::HasFailure()) return;
        }
    for (const Type& type : kMoved)
      for (const Coll coll : {Coll::bcast, Coll::allgather, Coll::alltoallv, Coll::gatherv})
        Case{coll, 5, &type}.run(context, client.rank, client.size);
  });
}

/// They have gaps, which a receiver keeps.
TEST(Collectives, OfPairsWithGaps) {
  struct Pair {
    double value;
    int index, gap;
  };
  run("aaa", [](Client& client, void* context) {
    for (const bool waits : {false, true}) {
      Pair own[2] = {{client.rank + 0.5, client.rank, 7}, {1.25, -1, 7}}, all[6];
      for (Pair& one : all) one = {0, 0, 9};
      void* handle = nullptr;
      ASSERT_EQ(
          waits ? hcoll_collectives.coll_iallgather(own, 2, DTE_DOUBLE_INT, all, 2, DTE_DOUBLE_INT, context, &handle)
                : hcoll_collectives.coll_allgather(own, 2, DTE_DOUBLE_INT, all, 2, DTE_DOUBLE_INT, context),
          HCOLL_SUCCESS);
      if (waits) wait(handle);
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(all[2 * rank].value, rank + 0.5);
        EXPECT_EQ(all[2 * rank].index, rank);
        EXPECT_EQ(all[2 * rank].gap, 9);
        EXPECT_EQ(all[2 * rank + 1].index, -1);
      }
      struct {
        short value, gap;
        int index;
      } one = {static_cast<short>(client.rank), 5, client.rank};
      ASSERT_EQ(hcoll_collectives.coll_bcast(&one, 1, DTE_SHORT_INT, 2, context), HCOLL_SUCCESS);
      EXPECT_EQ(one.value, 2);
      EXPECT_EQ(one.gap, 5);
      EXPECT_EQ(one.index, 2);
    }
  });
}

TEST(Collectives, ARankAHost) {
  run("abc", [](Client& client, void* context) { run_all(client, context, {0, 3, 5000}); });
}
TEST(Collectives, TwoRanksAndOne) {
  run("aab", [](Client& client, void* context) { run_all(client, context, {0, 3, 5000}); });
}

/// The job's daemons are started for it, a node of the tree on the first host.
TEST(Collectives, ByATreeOfTheirOwn) {
  if (!rank::test::ask_for_a_tree(SUMAC_BINARY_DIR)) GTEST_SKIP() << "the daemons are not built";
  run("aabc", [](Client& client, void* context) { run_all(client, context, {0, 3, 5000}); });
  ::unsetenv("HCOLL_ENABLE_SHARP");
}

/// Many are under way at once, also of two groups, and between blocking ones.
TEST(Collectives, ManyUnderWay) {
  run("aab", [](Client& client, void* context) {
    Group some = client.group_of(2, {2, 0});
    void* const other = client.rank == 1 ? nullptr : hcoll_create_context(&some);
    constexpr int kMany = 100;
    std::vector<int> sums(kMany, client.rank + 1), two(kMany, client.rank + 1);
    std::vector<void*> handles(2 * kMany);
    for (int i = 0; i < kMany; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(hcoll_collectives.coll_iallreduce(HCOLL_IN_PLACE, &sums[at], 1, DTE_INT32, HCOL_OP_SUM, context,
                                                  &handles[at]),
                HCOLL_SUCCESS);
      if (other != nullptr) {
        ASSERT_EQ(hcoll_collectives.coll_iallreduce(HCOLL_IN_PLACE, &two[at], 1, DTE_INT32, HCOL_OP_SUM, other,
                                                    &handles[kMany + at]),
                  HCOLL_SUCCESS);
      }
      if (i == kMany / 2) {
        ASSERT_EQ(hcoll_collectives.coll_barrier(context), HCOLL_SUCCESS);
      }
    }
    for (auto handle = handles.rbegin(); handle != handles.rend(); ++handle)
      if (*handle != nullptr) wait(*handle);
    EXPECT_EQ(sums, std::vector<int>(kMany, 6));
    if (other == nullptr) return;
    EXPECT_EQ(two, std::vector<int>(kMany, 4));
    EXPECT_EQ(hcoll_context_free(other, &some), HCOLL_SUCCESS);
  });
}

}  // namespace
}  // namespace sumac::hcoll::test
