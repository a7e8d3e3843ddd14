// Handles after their end, and calls that are wrong at one rank only: the code that sharp_coll.h names, and nobody else disturbed or left
// waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "client/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

TEST_F(World, WhatIsUsedAfterItsEndIsFoundOut) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    void *request = nullptr, *memory = nullptr;
    RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &request), 0);
    RANK_EQUAL(sharp_coll_req_wait(request), 0);
    RANK_EQUAL(sharp_coll_req_test(request), 1);  // nobody waits for what was freed
    RANK_EQUAL(sharp_coll_req_free(request), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_req_wait(request), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, memory), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, memory), SHARP_COLL_EINVAL);

    auto* second = rank.comm(context);  // in a slot of its own, while the first lives
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    auto* third = rank.comm(context);  // in the slot of the second
    RANK_CHECK(third != second);
    RANK_EQUAL(sharp_coll_comm_destroy(second), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(second), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_allreduce(second, &spec), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(third), 0);
    // One kind of handle for another.
    RANK_EQUAL(sharp_coll_do_barrier(reinterpret_cast<sharp_coll_comm*>(context)), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_progress(reinterpret_cast<sharp_coll_context*>(comm)), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_req_free(comm), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_dereg_mr(context, comm), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_comm_destroy(reinterpret_cast<sharp_coll_comm*>(&spec)), SHARP_COLL_EINVAL);

    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), 0);
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
    RANK_EQUAL(sharp_coll_req_wait(request), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    // What still stands ends with its context.
    RANK_EQUAL(sharp_coll_do_barrier(third), 0);
    rank.barrier();
    RANK_EQUAL(sharp_coll_finalize(context), 0);
    RANK_EQUAL(sharp_coll_finalize(context), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(third), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_comm_destroy(third), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_progress(context), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_dereg_mr(context, memory), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), SHARP_COLL_EINVAL);
    sharp_coll_caps caps;
    RANK_EQUAL(sharp_coll_caps_query(context, &caps), SHARP_COLL_EINVAL);
    sharp_coll_comm_init_spec group{};
    group.size = 1;
    RANK_EQUAL(sharp_coll_comm_init(context, &group, &comm), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_dump_stats(context), SHARP_COLL_EINVAL);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("communicator: destroyed before, or never made"));
  EXPECT_THAT(ended[0].err, HasSubstr("context: destroyed before, or never made"));
  EXPECT_THAT(ended[0].err, HasSubstr("sharp_coll_req_wait: this request was freed before, or never made"));
}

}  // namespace
}  // namespace sumac::client::test
