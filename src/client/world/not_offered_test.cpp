// Unsupported calls are refused with SHARP_COLL_ENOT_SUPP before any message if all members know it; if only one of
// them may know, the refusal uses a number, so that the others learn of it (docs/exceptions.md).
#include <gtest/gtest.h>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using Spec = sharp_coll_reduce_spec;

/// Visits each illegal pair of type and operation, numbers that are no type or operation, and streaming where it is not
/// available.
template <class F>
void each_alike(const Spec& good, F&& visit) {
  for (int dtype = 0; dtype <= SHARP_DTYPE_NULL + 1; ++dtype)
    for (int op = 0; op <= SHARP_OP_NULL + 1; ++op) {
      const bool is_type = dtype < SHARP_DTYPE_NULL, is_op = op < SHARP_OP_NULL;
      if (is_type && is_op && (is_pair(static_cast<Op>(op)) || legal(static_cast<Dtype>(dtype), static_cast<Op>(op))))
        continue;
      Spec bad = good;
      bad.dtype = static_cast<sharp_datatype>(dtype);
      bad.op = static_cast<sharp_reduce_op>(op);
      visit(bad);
    }
  Spec streams = good;
  streams.aggr_mode = SHARP_AGGREGATION_STREAMING;
  visit(streams);
}

constexpr int (*kBlocking[])(sharp_coll_comm*, Spec*) = {sharp_coll_do_allreduce, sharp_coll_do_reduce,
                                                         sharp_coll_do_reduce_scatter};
constexpr int (*kNonblocking[])(sharp_coll_comm*, Spec*, void**) = {sharp_coll_do_allreduce_nb, sharp_coll_do_reduce_nb,
                                                                    sharp_coll_do_reduce_scatter_nb};

TEST_F(World, WhatNobodyOffersIsRefusedBeforeAnyMessage) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int64_t in[3] = {1, 1, 1}, out[3] = {};
    auto good = reduce_spec(in, out, 1, Dtype::int32, Op::sum);
    good.root = 0;
    good.offset = 0;
    good.sbuf_desc.buffer.length = good.rbuf_desc.buffer.length = sizeof in;
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    const auto before = stats_of(context).messages_out;
    int refused = 0;
    each_alike(good, [&](Spec bad) {
      for (const auto call : kBlocking) RANK_EQUAL(call(comm, &bad), SHARP_COLL_ENOT_SUPP);
      for (const auto call : kNonblocking) {
        void* handle = &bad;
        RANK_EQUAL(call(comm, &bad, &handle), SHARP_COLL_ENOT_SUPP);
        RANK_CHECK(handle == nullptr);
      }
      ++refused;
    });
    RANK_EQUAL(refused, 4 * 6 + 2 * 12 + 2 * 14 + 1);  // Bits of floats; no operation; no type; no streaming.
    for (int i = 0; i < 10; ++i) RANK_EQUAL(sharp_coll_progress(context), 0);
    RANK_EQUAL(stats_of(context).messages_out, before);
    // Nothing else is owed: the next call is the next number at every member.
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &good), 0);
    RANK_EQUAL(stats_of(context).messages_out, before + 1);
    RANK_EQUAL(static_cast<std::int32_t>(out[0]), 3);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ATagTypeThatIsNoneIsOneMembersOwnAffairAndTakesItsTurn) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int64_t in = 1, out = 0;
    auto bad = reduce_spec(&in, &out, 1, Dtype::int32, Op::minloc, Dtype::int32);
    auto good = bad;
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    for (const int tag : {int{SHARP_DTYPE_FLOAT}, int{SHARP_DTYPE_NULL} + 1, 0xA5A5 + rank.rank}) {
      bad.tag_dtype = static_cast<sharp_datatype>(tag);
      const auto before = stats_of(context).messages_out;
      for (const auto op : {SHARP_OP_MINLOC, SHARP_OP_MAXLOC}) {
        bad.op = op;
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &bad), SHARP_COLL_ENOT_SUPP);
      }
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &good), 0);  // All ranks refused, so the group goes on.
      // The second one may have waited in the queue until the others had refused the first.
      RANK_EQUAL(stats_of(context).messages_out, before + 3);
    }
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
