// The streaming lock through real daemons whose nodes have one streaming slot: which communicator gets it, which goes
// without, which gets an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

class OneStream : public World {
 protected:
  Shape shape() const override { return two_leaves({{"SUMAC_NODE_STREAMS", "1"}}); }
  std::vector<Ended> run(int size, Environment environment, const std::function<void(Rank&)>& body) {
    environment.emplace_back("SHARP_COLL_ENABLE_SAT", "1");
    return World::run(size, std::move(environment), body);
  }
};

/// Does an allreduce of 256 KiB; the result is exact if it succeeds.
int large(sharp_coll_comm* comm, const Rank& rank, sharp_aggregation_mode mode) {
  std::vector<std::int32_t> in(65536, rank.rank + 1), out(65536, -1);
  auto spec = reduce_spec(in.data(), out.data(), in.size(), Dtype::int32, Op::sum);
  spec.aggr_mode = mode;
  const int status = sharp_coll_do_allreduce(comm, &spec);
  const int sum = rank.size * (rank.size + 1) / 2;
  RANK_CHECK(out == std::vector<std::int32_t>(65536, status == 0 ? sum : -1));
  return status;
}

std::uint64_t streamed(sharp_coll_context* context) {
  return stats_of(context).per_coll[SUMAC_STATS_ALLREDUCE].streamed;
}

/// Small operations of `second` begin and end while `first` streams: its last member holds back, so the stream cannot
/// end meanwhile.
void goes_on_beside_a_stream(const Rank& rank, sharp_coll_context* context, sharp_coll_comm* first,
                             sharp_coll_comm* second) {
  const bool is_late = rank.rank == rank.size - 1;
  std::vector<std::int32_t> in(1 << 20, 1), out(1 << 20);
  auto spec = reduce_spec(in.data(), out.data(), in.size(), Dtype::int32, Op::sum);
  const auto info = info_of(first);
  const auto before = stats_of(context).bytes_out;
  void* stream = nullptr;
  if (!is_late) {
    RANK_EQUAL(sharp_coll_do_allreduce_nb(first, &spec, &stream), 0);
    // All chunks that may be sent before an answer are under way.
    while (stats_of(context).bytes_out < before + std::uint64_t{info.stream_window} * info.chunk_bytes)
      RANK_EQUAL(sharp_coll_req_test(stream), 0);
  }
  for (std::int32_t i = 0; i < 10; ++i) {
    RANK_EQUAL(sharp_coll_do_barrier(second), 0);
    std::int32_t mine = i, sum = 0;
    auto small = reduce_spec(&mine, &sum, 1, Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(second, &small), 0);
    RANK_EQUAL(sum, i * rank.size);
    if (!is_late) RANK_EQUAL(sharp_coll_req_test(stream), 0);
  }
  if (is_late) RANK_EQUAL(sharp_coll_do_allreduce_nb(first, &spec, &stream), 0);
  RANK_EQUAL(sharp_coll_req_wait(stream), 0);
  RANK_CHECK(out == std::vector<std::int32_t>(1 << 20, rank.size));
}

TEST_F(OneStream, WhoComesSecondGoesInFragmentsOrIsTold) {
  const auto job = new_job_id();
  const auto ended = run(3, {}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto *first = rank.comm(context), *second = rank.comm(context);
    RANK_EQUAL(large(first, rank, SHARP_AGGREGATION_NONE), 0);
    RANK_EQUAL(streamed(context), 1u);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_NONE), 0);
    RANK_EQUAL(streamed(context), 1u);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_STREAMING), SHARP_COLL_ELOCK_FAILED);
    RANK_EQUAL(sharp_coll_do_barrier(second), 0);  // The group lives on.
    goes_on_beside_a_stream(rank, context, first, second);
    RANK_EQUAL(streamed(context), 2u);
    RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(streamed(context), 3u);
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_THAT(ended[0].err, HasSubstr("SHARP_COLL_SAT_LOCK_BATCH_SIZE=1")) << "said once, with the remedy";
  EXPECT_EQ(ended[1].err, "");
}

TEST_F(OneStream, ABatchOfOneTakesTurns) {
  const auto job = new_job_id();
  run(2, {{"SHARP_COLL_SAT_LOCK_BATCH_SIZE", "1"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto *first = rank.comm(context), *second = rank.comm(context);
    for (int i = 0; i < 5; ++i)
      for (auto* comm : {first, second}) RANK_EQUAL(large(comm, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(streamed(context), 10u);
    RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(OneStream, CommInitTakesTheLockOrFailsEverywhere) {
  const auto job = new_job_id();
  const auto ended = run(3, {{"SHARP_COLL_LOCK_ON_COMM_INIT", "1"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* first = rank.comm(context);
    sharp_coll_comm* second = nullptr;
    RANK_EQUAL(rank.try_comm(context, second), SHARP_COLL_ELOCK_FAILED);
    RANK_EQUAL(large(first, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
    RANK_EQUAL(rank.try_comm(context, second), 0);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_THAT(ended[0].err, HasSubstr("Failed to lock SAT tree(ID:0x"));
}

/// comm_init with SHARP_COLL_LOCK_ON_COMM_INIT=1 where no lock is available at all: -19 at all ranks.
void comm_init_is_denied(Rank& rank, sharp_coll_context* context) {
  sharp_coll_comm* comm = nullptr;
  RANK_EQUAL(rank.try_comm(context, comm), SHARP_COLL_ELOCK_DENIED);
  RANK_EQUAL(SHARP_COLL_ELOCK_DENIED, -19);
}

const Environment kLockedAtInit{{"SHARP_COLL_ENABLE_SAT", "1"}, {"SHARP_COLL_LOCK_ON_COMM_INIT", "1"}};

TEST(LockDenied, WhereNoNodeMemoryIsLeftForAWindow) {
  const Daemons daemons(two_leaves({{"SUMAC_NODE_MEMORY", "1MiB"}}));  // Three chunks in flight, for all groups.
  const auto job = new_job_id();
  const auto ended = run_well(daemons, 3, kLockedAtInit, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* first = rank.comm(context);
    comm_init_is_denied(rank, context);
    RANK_EQUAL(large(first, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
    auto* second = rank.comm(context);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_STREAMING), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_THAT(ended[0].err, HasSubstr("ret:0x13): no node memory is left for its window"));
  EXPECT_THAT(ended[0].err, HasSubstr("SUMAC_NODE_MEMORY"));
}

TEST(NoStreaming, WhereTheManagerGrantsNoneOperationsGoInFragmentsAndALineSaysSo) {
  const Daemons daemons(two_leaves({{"SUMAC_AM_STREAM_WINDOW", "0"}}));
  const auto job = new_job_id(), other = new_job_id();
  const auto ended = run_well(daemons, 3, {{"SHARP_COLL_ENABLE_SAT", "1"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    sharp_coll_caps caps{};
    RANK_EQUAL(sharp_coll_caps_query(context, &caps), 0);
    RANK_EQUAL(caps.support_mask.feature_mask & SHARP_FEATURE_SAT, 0u);
    auto* comm = rank.comm(context);
    RANK_EQUAL(large(comm, rank, SHARP_AGGREGATION_NONE), 0);
    RANK_EQUAL(streamed(context), 0u);
    RANK_EQUAL(large(comm, rank, SHARP_AGGREGATION_STREAMING), SHARP_COLL_ENOT_SUPP);
    RANK_EQUAL(large(comm, rank, SHARP_AGGREGATION_NONE), 0);  // The refusal harmed nothing.
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
    ::setenv("SHARP_COLL_LOCK_ON_COMM_INIT", "1", 1);
    context = rank.init(other);
    comm_init_is_denied(rank, context);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_THAT(ended[0].err, HasSubstr("SHARP_COLL_ENABLE_SAT=1, but no streaming was granted: large operations go in "
                                      "fragments of 1024 bytes; SUMAC_AM_STREAM_WINDOW is 0 at sharp_am"));
  EXPECT_THAT(ended[0].err, HasSubstr("ret:0x13): no streaming was granted to this job"));
  EXPECT_EQ(ended[1].err.find("no streaming was granted: large"), std::string::npos) << "one rank says it";
}

TEST(NoStreaming, WhereNoNodeMemoryIsLeftALineSaysSo) {
  const Daemons daemons(two_leaves({{"SUMAC_NODE_MEMORY", "1MiB"}}));
  const auto job = new_job_id();
  const auto ended = run_well(daemons, 3, {{"SHARP_COLL_ENABLE_SAT", "1"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto *first = rank.comm(context), *second = rank.comm(context);
    RANK_EQUAL(large(first, rank, SHARP_AGGREGATION_NONE), 0);
    RANK_EQUAL(streamed(context), 1u);
    RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_NONE), 0);
    RANK_EQUAL(streamed(context), 1u);
    RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  const std::string line = "no node memory is left for a streaming window";
  const auto said = ended[0].err.find(line);
  ASSERT_NE(said, std::string::npos) << ended[0].err;
  EXPECT_EQ(ended[0].err.find(line, said + 1), std::string::npos) << "of the second only";
}

TEST_F(World, WithoutLocksEverybodyStreams) {
  const auto job = new_job_id();
  expect_well(2,
              [&](Rank& rank) {
                auto* context = rank.init(job);
                auto *first = rank.comm(context), *second = rank.comm(context);
                RANK_EQUAL(large(first, rank, SHARP_AGGREGATION_STREAMING), 0);
                RANK_EQUAL(large(second, rank, SHARP_AGGREGATION_STREAMING), 0);
                RANK_EQUAL(sharp_coll_comm_destroy(first), 0);
                RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
                RANK_EQUAL(sharp_coll_finalize(context), 0);
              },
              {{"SHARP_COLL_ENABLE_SAT", "1"}, {"SHARP_COLL_SAT_LOCK_BATCH_SIZE", "0"}});
}

}  // namespace
}  // namespace sumac::client::test
