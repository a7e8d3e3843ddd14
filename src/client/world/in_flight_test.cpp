// The amount of one operation that is sent before any answer: the group's OSTs and SHARP_COLL_PIPELINE_DEPTH bound
// small fragments, the granted window bounds a stream. One member holds back, so the other one sends as much as it may.
#include <gtest/gtest.h>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

TEST_F(World, AnOperationHasNoMoreFragmentsInFlightThanItsDepthTheOstsAndTheWindowLet) {
  const struct {
    const char *depth, *sat;
    std::size_t fragments;  ///< The number of the operation's fragments.
    std::uint64_t in_flight;
  } rows[] = {
      {"1", "0", 100, 1},   {"3", "0", 100, 3},   {"15", "0", 100, 15},
      {"16", "0", 100, 16}, {"17", "0", 100, 16},  // The group's OSTs are fewer.
      {"64", "0", 100, 16},                        // The default.
      {"64", "0", 5, 5},    {"1", "1", 40, 16},    // A stream has a window of its own.
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::Message() << "depth " << row.depth << ", streaming " << row.sat << ", " << row.fragments);
    const auto job = new_job_id();
    const auto body = [&](Rank& rank) {
      auto* context = rank.init(job);
      auto* comm = rank.comm(context);
      const auto info = info_of(comm);
      RANK_EQUAL(info.osts, 16u);
      const bool streams = *row.sat == '1';
      if (streams) RANK_EQUAL(info.stream_window, 16u);
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
      if (streams) {  // The lock is a message of its own.
        std::vector<std::int32_t> some(10'000, 1);
        auto spec = reduce_spec(some.data(), some.data(), some.size(), Dtype::int32, Op::sum);
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      }
      const std::size_t count = row.fragments * (streams ? info.chunk_bytes : info.payload_bytes) / 4;
      std::vector<std::int32_t> in(count), out(count);
      for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::int32_t>(i) + rank.rank;
      auto spec = reduce_spec(in.data(), out.data(), count, Dtype::int32, Op::sum);
      void* request = nullptr;
      if (rank.rank == 0) {
        const auto before = stats_of(context).messages_out;
        RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &request), 0);
        for (int i = 0; i < 100; ++i) RANK_EQUAL(sharp_coll_req_test(request), 0);
        RANK_EQUAL(stats_of(context).messages_out - before, row.in_flight);
      }
      rank.barrier();
      if (rank.rank != 0) RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &request), 0);
      RANK_EQUAL(sharp_coll_req_wait(request), 0);
      for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(out[i], 2 * static_cast<std::int32_t>(i) + 1);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    };
    expect_well(2, body,
                {{"SHARP_COLL_PIPELINE_DEPTH", row.depth},
                 {"SHARP_COLL_ENABLE_SAT", row.sat},
                 {"SHARP_COLL_JOB_QUOTA_OSTS", "128"},
                 {"SHARP_COLL_JOB_QUOTA_MAX_GROUPS", "8"}});
  }
}

}  // namespace
}  // namespace sumac::client::test
