// A node whose memory is all taken: it keeps its promises exactly; it refuses at the making of a communicator what it
// cannot hold, with the reason, and no member waits for it. One member runs far ahead of the other in many groups at
// once, so the node has to hold as much as their windows permit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

constexpr int kGroups = 8;

/// Operations of `count` numbers, `pieces` of them.
struct Pieces {
  sharp_coll_comm* comm = nullptr;
  std::vector<std::vector<float>> in, out;
  std::vector<void*> handles;

  Pieces(sharp_coll_comm* group, int rank, std::size_t pieces, std::size_t count) : comm(group) {
    for (std::size_t i = 0; i < pieces; ++i) {
      in.emplace_back(count, static_cast<float>(i + 1) * static_cast<float>(rank + 1));
      out.emplace_back(count, -1.0F);
    }
  }
  void post() {
    for (std::size_t i = 0; i < in.size(); ++i) {
      auto spec = reduce_spec(in[i].data(), out[i].data(), in[i].size(), Dtype::float32, Op::sum);
      handles.push_back(nullptr);
      RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handles.back()), 0);
    }
  }
  void wait(int ranks) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      RANK_EQUAL(sharp_coll_req_wait(handles[i]), 0);
      const float sum = static_cast<float>(i + 1) * static_cast<float>(ranks * (ranks + 1) / 2);
      RANK_CHECK(out[i] == std::vector<float>(in[i].size(), sum));
    }
  }
};

/// Makes as many communicators as there is memory for, up to `groups`; all ranks have the same.
std::vector<sharp_coll_comm*> make_groups(Rank& rank, sharp_coll_context* context, int groups) {
  std::vector<sharp_coll_comm*> comms;
  for (int i = 0; i < groups; ++i) {
    sharp_coll_comm* comm = nullptr;
    const int status = rank.try_comm(context, comm);
    RANK_CHECK(status == 0 || status == SHARP_COLL_EGROUP_JOIN);
    if (status == 0) comms.push_back(comm);
  }
  RANK_CHECK(!comms.empty());
  return comms;
}

/// All but the last rank send as much as their windows permit before the last one begins, group after group, starting
/// with the last one.
void run_ahead(Rank& rank, std::uint64_t job, std::size_t pieces, std::size_t count, int groups = kGroups) {
  auto* context = rank.init(job);
  const auto comms = make_groups(rank, context, groups);
  for (int round = 0; round < 3; ++round) {
    std::deque<Pieces> work;
    for (auto* comm : comms) work.emplace_back(comm, rank.rank, pieces, count);
    const bool is_late = rank.rank == rank.size - 1;
    if (!is_late)
      for (auto& one : work) one.post();
    rank.barrier();
    if (is_late)
      for (auto one = work.rbegin(); one != work.rend(); ++one) one->post();
    for (auto one = work.rbegin(); one != work.rend(); ++one) one->wait(rank.size);
  }
  std::fprintf(stderr, "%zu groups stood\n", comms.size());
  for (auto* comm : comms) RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

class SmallNode : public World {
 protected:
  Shape shape() const override { return two_leaves({{"SUMAC_NODE_MEMORY", "1MiB"}}); }
};

const Environment kAllOsts{{"SHARP_COLL_JOB_QUOTA_OSTS", "512"},
                           {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "8"},
                           {"SHARP_COLL_JOB_QUOTA_PAYLOAD_PER_OST", "1024"}};

TEST_F(SmallNode, PromisesNoMoreOstsThanItCanHold) {
  const auto job = new_job_id();
  // 8 groups of 64 OSTs of 1 KiB would need 1 MiB and more, twice over.
  const auto ended = run(3, kAllOsts, [&](Rank& rank) { run_ahead(rank, job, 64, 256); });
  EXPECT_THAT(ended[0].err, HasSubstr("SUMAC_NODE_MEMORY")) << "who is refused is told what to raise";
  EXPECT_THAT(ended[0].err, testing::Not(HasSubstr("8 groups stood")));
}

TEST_F(SmallNode, PromisesNoMoreOfAStreamThanItCanHold) {
  const auto job = new_job_id();
  run(3, {{"SHARP_COLL_ENABLE_SAT", "1"}}, [&](Rank& rank) { run_ahead(rank, job, 3, 70'000); });
}

TEST(SmallNodes, PromiseNoMorePartialSumsThanTheyCanHold) {
  const Daemons daemons(two_leaves({{"SUMAC_NODE_MEMORY", "4MiB"}}));
  auto config = on(daemons, 14);
  // Neighbours in rank are below different leaves, so nothing can be added before the root, and a leaf has 7 sums for
  // each chunk.
  std::swap(config.sockets[1], config.sockets[2]);
  config.environment = {{"SHARP_COLL_ENABLE_SAT", "1"}, {"SUMAC_REPRODUCIBLE", "1"}};
  const auto job = new_job_id();
  const auto ended = run_ranks(config, [&](Rank& rank) { run_ahead(rank, job, 2, 300'000, 1); });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
}

TEST_F(SmallNode, GivesWhatAGroupHadToTheNextOne) {
  const auto job = new_job_id();
  run(2, kAllOsts, [&](Rank& rank) {
    auto* context = rank.init(job);
    for (int turn = 0; turn < 20; ++turn) {
      auto* comm = rank.comm(context);
      const auto info = info_of(comm);
      RANK_EQUAL(info.osts, 64u);
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    }
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
