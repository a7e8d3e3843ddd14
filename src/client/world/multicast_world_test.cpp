// Multicast through real daemons on loopback. The order of arrival is random, so the test does not depend on it: the
// sums are right in both cases, and the datagrams are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Does small operations of several kinds and checks them; then checks whether any result came by multicast.
void small_operations(Rank& rank, std::uint64_t job, bool wants_datagrams) {
  auto* context = rank.init(job);
  auto* comm = rank.comm(context);
  for (std::int64_t i = 0; i < 100; ++i) {
    std::int64_t mine = i * 10 + rank.rank, sum = -1;
    auto spec = reduce_spec(&mine, &sum, 1, Dtype::int64, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_EQUAL(sum, i * 10 * rank.size + rank.size * (rank.size - 1) / 2);
    if (i % 10 == 0) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    spec.root = static_cast<int>(i) % rank.size;
    sum = -1;
    RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), 0);
    RANK_EQUAL(sum, spec.root == rank.rank ? i * 10 * rank.size + rank.size * (rank.size - 1) / 2 : -1);
  }
  // A large operation in between uses only the links.
  std::vector<std::int32_t> many(5'000, rank.rank), sums(many.size());
  auto spec = reduce_spec(many.data(), sums.data(), many.size(), Dtype::int32, Op::sum);
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  for (const auto sum : sums) RANK_EQUAL(sum, rank.size * (rank.size - 1) / 2);
  const auto stats = stats_of(context);
  RANK_EQUAL(stats.multicast_taken + stats.multicast_late > 0, wants_datagrams);
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

TEST_F(World, SmallResultsComeByMulticastAsWell) {
  const auto job = new_job_id();
  const auto ended = run(6, {{"SHARP_COLL_LOG_LEVEL", "3"}, {"SHARP_COLL_STATS_DUMP_MODE", "2"}},
                         [&](Rank& rank) { small_operations(rank, job, true); });
  EXPECT_THAT(ended[0].err, ContainsRegex("mgid: \\( subnet prefix: 0xff12a01bfe800000 interface id: 0xefff[0-9a-f]+ "
                                          "\\) mlid:c[0-9a-f]+"));
  EXPECT_THAT(ended[0].err, ContainsRegex("statistics of 6 ranks: .*, multicast: taken:[0-9]+ late:[0-9]+"));
}

TEST_F(World, WithoutARequestForItNobodyListensAndTheLineSaysZeros) {
  const auto job = new_job_id();
  const auto ended = run(4, {{"SHARP_COLL_LOG_LEVEL", "3"}, {"SHARP_COLL_ENABLE_MCAST_TARGET", "0"}},
                         [&](Rank& rank) { small_operations(rank, job, false); });
  EXPECT_THAT(ended[0].err, HasSubstr("mgid: ( subnet prefix: 0x0 interface id: 0x0 ) mlid:0"));
}

TEST_F(World, OneMemberListensTheOthersDoNot) {
  const auto job = new_job_id();
  expect_well(4, [&](Rank& rank) {
    ::setenv("SHARP_COLL_ENABLE_MCAST_TARGET", rank.rank == 2 ? "1" : "0", 1);
    small_operations(rank, job, rank.rank == 2);
  });
}

TEST(MulticastWorld, nodes_that_have_none_serve_as_ever) {
  const Daemons daemons(two_leaves({{"SUMAC_NODE_MCAST", "off"}}));
  const auto job = new_job_id();
  const auto ended =
      run_well(daemons, 4, {{"SHARP_COLL_LOG_LEVEL", "3"}}, [&](Rank& rank) { small_operations(rank, job, false); });
  EXPECT_THAT(ended[0].err, HasSubstr("mgid: ( subnet prefix: 0x0 interface id: 0x0 ) mlid:0"));
}

}  // namespace
}  // namespace sumac::client::test
