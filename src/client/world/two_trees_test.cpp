// A communicator over two trees, one of which loses its node at some moment: each operation ends exactly or with an
// error, never with a wrong sum, and it always ends. Members differ by no more than docs/protocol.md says ("When a node
// is lost"), and later operations use the remaining tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kLarge = 2'000'003;  ///< It is under way for some milliseconds.
constexpr std::size_t kStriped = 100'000;

/// Two nodes on hosts of their own: each is a tree of one node.
class TwoTrees : public testing::Test {
 protected:
  std::unique_ptr<Daemons> start(const char* node_away) {
    ::setenv("SUMAC_AM_NODE_AWAY", node_away, 1);
    auto daemons = std::make_unique<Daemons>(Shape{.leaves = {"leaf1"}, .hosts_per_leaf = kRanks, .spares = 2});
    ::unsetenv("SUMAC_AM_NODE_AWAY");
    return daemons;
  }
  static RanksConfig over_both(const Daemons& daemons) {
    auto config = on(daemons, kRanks);
    config.environment = {{"SHARP_COLL_JOB_NUM_TREES", "2"}, {"SHARP_COLL_ENABLE_SAT", "1"}};
    return config;
  }
};

std::uint32_t groups_of(sharp_coll_comm* comm) {
  sumac_comm_info info{};
  info.struct_bytes = sizeof info;
  RANK_EQUAL(sumac_comm_query_info(comm, &info), 0);
  return info.groups;
}

struct Sum {
  std::vector<std::int32_t> in, out;
  void* handle = nullptr;

  Sum(const Rank& rank, sharp_coll_comm* comm, std::size_t count) : in(count), out(count, -1) {
    for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::int32_t>(i % 1000) + rank.rank;
    auto spec = reduce_spec(in.data(), out.data(), count, Dtype::int32, Op::sum);
    posted = sharp_coll_do_allreduce_nb(comm, &spec, &handle);
  }
  /// Returns 0, and then the sum is exact, or an error.
  int wait() {
    const int status = posted != 0 ? posted : sharp_coll_req_wait(handle);
    for (std::size_t i = 0; status == 0 && i < out.size(); ++i)
      RANK_EQUAL(out[i], kRanks * static_cast<std::int32_t>(i % 1000) + kRanks * (kRanks - 1) / 2);
    return status;
  }
  int posted = 0;
};

void add_up(const Rank& rank, sharp_coll_comm* comm) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kStriped})
    RANK_EQUAL(Sum(rank, comm, count).wait(), 0);
}

/// Operations go on until the first fails, at all ranks alike until then; afterwards the communicator stays ended.
void until_it_has_ended(sharp_coll_comm* comm) {
  int status = 0;
  while (status == 0) status = sharp_coll_do_barrier(comm);
  RANK_EQUAL(status, SHARP_COLL_ERROR);
  char text[512] = "";
  RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
  RANK_CHECK(std::strlen(text) > 0);
  RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
}

struct Moment {
  const char* name;
  bool before_posting;
  int looks;  ///< Polls of rank 0 at the operation, until it kills the node.
};
constexpr Moment kMoments[] = {
    {"between two operations", true, 0},       {"as it is posted", false, 0},
    {"with the first fragments", false, 2},    {"a little later", false, 12},
    {"in the midst of it", false, 60},         {"in the midst of it, or at its end", false, 250},
    {"at its end, or behind it", false, 2000},
};

TEST_F(TwoTrees, ANodeKilledAtAnyMomentLeavesNoWrongSumAndTheOtherTreeGoesOn) {
  for (const auto& moment : kMoments) {
    SCOPED_TRACE(moment.name);
    const auto daemons = start("1h");  // The job keeps its remaining resources.
    const pid_t victim = daemons->pid("an-s1");
    ASSERT_GT(victim, 0);
    const auto job = new_job_id();
    const auto ended = run_ranks(over_both(*daemons), [&](Rank& rank) {
      auto* context = rank.init(job);
      auto* comm = rank.comm(context);
      RANK_EQUAL(groups_of(comm), 2u);
      add_up(rank, comm);
      rank.barrier();
      if (moment.before_posting) {
        if (rank.rank == 0) RANK_EQUAL(::kill(victim, SIGKILL), 0);
        rank.barrier();
      }
      {
        Sum sum(rank, comm, kLarge);
        RANK_CHECK(sum.posted == 0 || sum.posted == SHARP_COLL_ERROR);
        if (rank.rank == 0 && !moment.before_posting) {
          for (int i = 0; i < moment.looks; ++i) RANK_EQUAL(sharp_coll_progress(context), 0);
          RANK_EQUAL(::kill(victim, SIGKILL), 0);
        }
        const int status = sum.wait();
        RANK_CHECK(status == 0 || status == SHARP_COLL_ERROR);
      }
      until_it_has_ended(comm);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);

      auto* rest = rank.comm(context);
      RANK_EQUAL(groups_of(rest), 1u);
      for (int i = 0; i < 3; ++i) add_up(rank, rest);
      RANK_EQUAL(sharp_coll_comm_destroy(rest), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    EXPECT_EQ(complaint(ended), "") << daemons->log();
    std::string said;
    for (const auto& rank : ended) said += rank.err;
    EXPECT_THAT(said, testing::HasSubstr("node an-s1")) << "who is gone, by name";
  }
}

/// The number of operations that succeeded at each rank, one after the other, until the first failed; all later ones
/// failed as well.
struct Tally {
  std::uint32_t good[kRanks];
};

TEST_F(TwoTrees, OneOperationAtATimeMembersDifferInTheLastAtMost) {
  auto* tally =
      static_cast<Tally*>(::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(tally, MAP_FAILED);
  for (const std::uint32_t before : {1u, 2u, 30u, 31u, 200u}) {
    SCOPED_TRACE(before);
    *tally = {};
    const auto daemons = start("1h");
    const pid_t victim = daemons->pid("an-s1");
    const auto job = new_job_id();
    const auto ended = run_ranks(over_both(*daemons), [&](Rank& rank) {
      auto* context = rank.init(job);
      auto* comm = rank.comm(context);
      // Small operations use the trees in rotation, every fifth uses both.
      std::uint32_t& good = tally->good[rank.rank];
      for (int status = 0; status == 0; good += status == 0) {
        if (good == before && rank.rank == 1) RANK_EQUAL(::kill(victim, SIGKILL), 0);
        status = Sum(rank, comm, good % 5 == 4 ? kStriped : 2).wait();
        RANK_CHECK(status == 0 || status == SHARP_COLL_ERROR);
      }
      for (const std::size_t count : {std::size_t{2}, kStriped, std::size_t{2}})
        RANK_EQUAL(Sum(rank, comm, count).wait(), SHARP_COLL_ERROR);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    EXPECT_EQ(complaint(ended), "") << daemons->log();
    const auto [least, most] = std::ranges::minmax(tally->good);
    EXPECT_LE(most, least + 1);
    EXPECT_GE(least + 1, before) << "what rank 1 had seen the end of, the others had but for the last";
  }
  ::munmap(tally, sizeof(Tally));
}

TEST_F(TwoTrees, ANodeKilledWhileMembersLeaveKeepsNobody) {
  const auto daemons = start("1h");
  const pid_t victim = daemons->pid("an-s2");
  const auto job = new_job_id();
  const auto ended = run_ranks(over_both(*daemons), [&](Rank& rank) {
    auto* context = rank.init(job);
    auto *comm = rank.comm(context), *late = rank.comm(context);
    add_up(rank, comm);
    rank.barrier();
    if (rank.rank == 2) RANK_EQUAL(::kill(victim, SIGKILL), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(late), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons->log();
}

TEST_F(TwoTrees, AfterTheNodeHasStayedAwayANewJobHasTheTreeThatIsLeft) {
  const auto daemons = start("200ms");
  const pid_t victim = daemons->pid("an-s1");
  const auto first_job = new_job_id();
  const auto ended = run_ranks(over_both(*daemons), [&](Rank& rank) {
    auto* context = rank.init(first_job);
    auto* comm = rank.comm(context);
    if (rank.rank == 0) RANK_EQUAL(::kill(victim, SIGKILL), 0);
    until_it_has_ended(comm);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
    // Until the manager considers the node gone, it has no complete tree to grant: it refuses at all ranks alike.
    int status = -1;
    context = nullptr;
    for (std::uint64_t attempt = 1; status != 0; ++attempt) {
      auto spec = rank.init_spec(first_job + (attempt << 40));
      spec.config.flags = SHARP_COLL_HIDE_ERRORS;
      status = sharp_coll_init(&spec, &context);
      RANK_CHECK(status == 0 || status == SHARP_COLL_EJOB_CREATE || status == SHARP_COLL_ECONN_TREE);
    }
    auto* rest = rank.comm(context);
    RANK_EQUAL(groups_of(rest), 1u);
    add_up(rank, rest);
    RANK_EQUAL(sharp_coll_comm_destroy(rest), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons->log();
}

TEST_F(TwoTrees, MoreRefusalsThanCanBeOutstandingHoldNobodyUp) {
  const auto daemons = start("1h");
  const auto job = new_job_id();
  auto config = over_both(*daemons);
  config.environment.emplace_back("SHARP_COLL_LOG_LEVEL", "0");
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(groups_of(comm), 2u);
    std::int32_t in = 1, out = 0;
    auto bad = reduce_spec(&in, nullptr, 1, Dtype::int32, Op::sum);
    for (int i = 0; i < 2000; ++i) RANK_EQUAL(sharp_coll_do_allreduce(comm, &bad), SHARP_COLL_EINVAL);
    auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &sum), 0);
    RANK_EQUAL(out, kRanks);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons->log();
}

}  // namespace
}  // namespace sumac::client::test
