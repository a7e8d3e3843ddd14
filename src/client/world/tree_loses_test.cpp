// The library refuses nothing to a program that calls it directly, but it reports beforehand from which size on a tree
// loses: in the log when the communicator is made, and when the program asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <regex>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string explained(sharp_coll_comm* comm) {
  char text[512] = "none";
  RANK_EQUAL(sumac_comm_explain(comm, text, sizeof text), 0);
  return text;
}

/// Returns rank 0's output of four ranks while a communicator is made and destroyed; the answer to its question is on
/// its stderr too, after "asked: ".
std::string said(const Daemons& daemons) {
  const auto job = new_job_id();
  const auto ended = run_well(daemons, 4, {{"SHARP_COLL_LOG_LEVEL", "3"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto text = explained(comm);
    char start[8];
    std::memset(start, 'x', sizeof start);
    RANK_EQUAL(sumac_comm_explain(comm, start, sizeof start), 0);
    RANK_CHECK(start == text.substr(0, sizeof start - 1));
    RANK_EQUAL(sumac_comm_explain(comm, nullptr, 0), 0);
    if (rank.rank == 0)
      std::fprintf(stderr, "asked: %s; limit %llu\n", text.c_str(),
                   static_cast<unsigned long long>(info_of(comm).allreduce_bytes_max));
    // No call is refused because of it.
    std::vector<std::int32_t> in(20'000, rank.rank), out(in.size());
    auto spec = reduce_spec(in.data(), out.data(), in.size(), Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_EQUAL(out.back(), 6);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(ended[static_cast<std::size_t>(i)].err, "") << "rank 0 speaks for all";
  return ended[0].err;
}

/// Four hosts with ports of 60 Mbit/s, 50 us a link.
Shape four_hosts() {
  Shape shape{.leaves = {"leaf1"}, .hosts_per_leaf = 4};
  shape.links = "rate: 60Mbit/s, delay: 50us";
  return shape;
}

TEST(TreeLoses, OnOneSpareHostAllHearFromWhichSizeOnAndToWhat) {
  auto shape = four_hosts();
  shape.spares = 1;
  shape.link_rate = "60Mbit/s";
  const Daemons daemons(shape);
  const auto text = said(daemons);
  // A hop is 100 us. At 16 MiB the tree takes 4 vectors over one link of 60 Mbit/s and 2 hops, the ring 1.5 vectors and
  // 6 hops. Recursive doubling, which is faster first, costs as much at 2 M / rate and 2 hops: beyond nothing.
  const std::string numbers =
      "16 MiB: tree 8948.0 ms, ring of 4 hosts 3356.0 ms; beyond 0 B the hosts' own algorithms are faster, recursive "
      "doubling first";
  EXPECT_TRUE(std::regex_search(
      text, std::regex(R"(INFO group [0-9a-f]+: large messages lose in its tree: )" + numbers + "\n")))
      << text;
  EXPECT_THAT(text, HasSubstr("asked: " + numbers + "; limit 0\n"));
}

TEST(TreeLoses, AtASwitchItDoesNotAndWhatIsNotKnownIsNotClaimed) {
  const auto told = said(Daemons(four_hosts()));
  EXPECT_THAT(told, Not(HasSubstr("lose in its tree")));
  EXPECT_THAT(told,
              HasSubstr("ring of 4 hosts 3356.0 ms; the tree does not lose at any size; limit 9223372036854775807\n"));

  auto unknown = four_hosts();
  unknown.links.clear();
  const auto untold = said(Daemons(unknown));
  EXPECT_THAT(untold, Not(HasSubstr("lose in its tree")));
  EXPECT_THAT(untold, HasSubstr("asked: the rate of the hosts' ports is not known: tree and hosts are not compared; "
                                "limit 9223372036854775807\n"));
}

}  // namespace
}  // namespace sumac::client::test
