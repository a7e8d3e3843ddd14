// libucc in a process of libhcoll: its ranks meet by an allgather of the context, and both have a sum under way.
#include <unistd.h>

#include <cstdlib>

#include "bindings/hcoll/test_client.hpp"
#include "tests/clients/ucc_rank.h"

namespace sumac::hcoll::test {
namespace {

void* gathers = nullptr;  ///< A context.

int gather(const void* in, void* out, std::size_t bytes) {
  return hcoll_collectives.coll_allgather(const_cast<void*>(in), static_cast<int>(bytes), DTE_BYTE, out,
                                          static_cast<int>(bytes), DTE_BYTE, gathers);
}

void sums_of_both(Client& client, void* context) {
  gathers = context;
  ASSERT_EQ(ucc_rank_open("BESIDE", client.rank, client.size, &gather), 0);
  for (const std::size_t count : {1, 50, 3000}) {
    const std::vector<std::int64_t> in(count, client.rank + 1), right(count, client.size * (client.size + 1) / 2);
    std::vector<std::int64_t> of_hcoll(count), of_ucc(count);
    void* posted = nullptr;
    ASSERT_EQ(hcoll_collectives.coll_iallreduce(const_cast<std::int64_t*>(in.data()), of_hcoll.data(),
                                                static_cast<int>(count), DTE_INT64, HCOL_OP_SUM, context, &posted),
              HCOLL_SUCCESS);
    ASSERT_EQ(ucc_rank_post(in.data(), of_ucc.data(), count), 0);
    EXPECT_EQ(ucc_rank_wait(), 0);
    wait(posted);
    EXPECT_EQ(of_hcoll, right);
    EXPECT_EQ(of_ucc, right);
  }
  EXPECT_EQ(ucc_rank_close(), 0);
}

TEST(BesideUcc, OverHosts) { run("aab", sums_of_both); }

/// The daemons of both are started for them.
TEST(BesideUcc, EachByATreeOfItsOwn) {
  if (!rank::test::ask_for_a_tree(SUMAC_BINARY_DIR)) GTEST_SKIP() << "the daemons are not built";
  run("aab", sums_of_both);
}

}  // namespace
}  // namespace sumac::hcoll::test
