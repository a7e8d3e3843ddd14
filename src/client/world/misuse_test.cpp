// Handles after their end, and calls that are wrong at only one rank: the result is the code that sharp_coll.h names,
// and no other rank is disturbed or left waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "client/world/test_world.hpp"

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
    RANK_EQUAL(sharp_coll_req_test(request), 1);  // A freed request must not make a caller wait.
    RANK_EQUAL(sharp_coll_req_free(request), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_req_wait(request), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, memory), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, memory), SHARP_COLL_EINVAL);

    auto* second = rank.comm(context);  // In a slot of its own, while the first lives.
    RANK_EQUAL(sharp_coll_comm_destroy(second), 0);
    auto* third = rank.comm(context);  // In the slot of the second.
    RANK_CHECK(third != second);
    RANK_EQUAL(sharp_coll_comm_destroy(second), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(second), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_allreduce(second, &spec), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(third), 0);
    // A handle of another kind is not accepted.
    RANK_EQUAL(sharp_coll_do_barrier(reinterpret_cast<sharp_coll_comm*>(context)), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_progress(reinterpret_cast<sharp_coll_context*>(comm)), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_req_free(comm), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_dereg_mr(context, comm), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_comm_destroy(reinterpret_cast<sharp_coll_comm*>(&spec)), SHARP_COLL_EINVAL);

    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), 0);
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
    RANK_EQUAL(sharp_coll_req_wait(request), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    // Communicators that still exist end with their context.
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

using Spec = sharp_coll_reduce_spec;
std::int32_t overlapping[8];

const struct WrongCall {
  const char* name;
  int (*call)(sharp_coll_comm* comm, Spec good);
  int status;
} kWrongCalls[] = {
    {"send buffer one byte short",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.sbuf_desc.buffer.length -= 1;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"no receive buffer",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.rbuf_desc.buffer.ptr = nullptr;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"buffers that overlap in part",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.sbuf_desc.buffer.ptr = overlapping;
       spec.rbuf_desc.buffer.ptr = reinterpret_cast<char*>(overlapping) + 2;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"a root outside the group",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.root = 3;
       return sharp_coll_do_reduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"a broadcast's root outside the group",
     [](sharp_coll_comm* comm, Spec spec) {
       sharp_coll_bcast_spec bcast{};
       bcast.root = -1;
       bcast.buf_desc = spec.rbuf_desc;
       bcast.size = sizeof(std::int32_t);
       return sharp_coll_do_bcast(comm, &bcast);
     },
     SHARP_COLL_EINVAL},
    {"buffers of a reduce-scatter that overlap in part",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.sbuf_desc.buffer.ptr = overlapping;
       spec.sbuf_desc.buffer.length = 3 * sizeof(std::int32_t);
       spec.rbuf_desc.buffer.ptr = reinterpret_cast<char*>(overlapping) + 2;
       spec.offset = 0;
       return sharp_coll_do_reduce_scatter(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"a tag type that is garbage",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.op = SHARP_OP_MINLOC;
       spec.tag_dtype = static_cast<sharp_datatype>(0xA5);
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_ENOT_SUPP},
    {"a window beyond the vector",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.offset = 1000;
       return sharp_coll_do_reduce_scatter(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"16 pieces",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.sbuf_desc.type = SHARP_DATA_IOV;
       spec.sbuf_desc.iov.count = 16;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"a TiB that the buffer does not have",
     [](sharp_coll_comm* comm, Spec spec) {
       spec.length = std::size_t{1} << 38;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_EINVAL},
    {"a list of a TiB",
     [](sharp_coll_comm* comm, Spec spec) {
       static sharp_data_iov piece;
       piece = {spec.sbuf_desc.buffer.ptr, std::size_t{1} << 44, nullptr};
       spec.sbuf_desc.type = SHARP_DATA_IOV;
       spec.sbuf_desc.iov.count = 1;
       spec.sbuf_desc.iov.vector = &piece;
       spec.rbuf_desc.buffer.length = piece.length;
       spec.length = piece.length / 4;
       return sharp_coll_do_allreduce(comm, &spec);
     },
     SHARP_COLL_ENOMEM},
    {"no spec at all", [](sharp_coll_comm* comm, Spec) { return sharp_coll_do_allreduce(comm, nullptr); },
     SHARP_COLL_EINVAL},
    {"no place for the handle",
     [](sharp_coll_comm* comm, Spec spec) { return sharp_coll_do_allreduce_nb(comm, &spec, nullptr); },
     SHARP_COLL_EINVAL},
    {"memory that was taken back",
     [](sharp_coll_comm* comm, Spec spec) { return sharp_coll_do_allreduce(comm, &spec); },  // See below.
     SHARP_COLL_EINVAL},
};

TEST_F(World, WhatAllRefuseHarmsNobodyAndTheGroupGoesOn) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    void* gone = nullptr;
    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &gone), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, gone), 0);
    for (const auto& wrong : kWrongCalls) {
      auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      if (&wrong == std::end(kWrongCalls) - 1) spec.sbuf_desc.buffer.mem_handle = gone;
      const int status = wrong.call(comm, spec);
      if (status != wrong.status) std::fprintf(stderr, "%s\n", wrong.name);
      RANK_EQUAL(status, wrong.status);
      spec.sbuf_desc.buffer.mem_handle = nullptr;
      out = 0;
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      RANK_EQUAL(out, 3);
    }
    // Refusals are many and cheap: there may be more than can be outstanding.
    auto bad = reduce_spec(&in, nullptr, 1, Dtype::int32, Op::sum);
    for (int i = 0; i < 2000; ++i) RANK_EQUAL(sharp_coll_do_allreduce(comm, &bad), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, WhatOneRefusesAloneIsAVerdictForTheOthers) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 3);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* lives_on = rank.comm(context);
    for (const auto& wrong : kWrongCalls) {
      auto* comm = rank.comm(context);
      std::int32_t in = 1, out = 0;
      void* memory = nullptr;
      RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &memory), 0);
      auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      if (&wrong == std::end(kWrongCalls) - 1) spec.sbuf_desc.buffer.mem_handle = memory;
      if (rank.rank == 1) {
        RANK_EQUAL(sharp_coll_dereg_mr(context, memory), 0);
        RANK_EQUAL(wrong.call(comm, spec), wrong.status);
      } else {
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ERROR);
        char text[256];
        RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
        if (std::strstr(text, "rank 1 (host h2) refused its own call") == nullptr)
          std::fprintf(stderr, "%s: %s\n", wrong.name, text);
        RANK_CHECK(std::strstr(text, "rank 1 (host h2) refused its own call") != nullptr);
      }
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    }
    RANK_EQUAL(sharp_coll_do_barrier(lives_on), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(lives_on), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  for (const char* cause :
       {"sbuf has 3 bytes, the operation 4", "rbuf is NULL", "sbuf and rbuf overlap in part", "root 3 in a group of 3",
        "at most 15", "this host has", "the spec is NULL", "was taken back by sharp_coll_dereg_mr"})
    EXPECT_THAT(ended[1].err, HasSubstr(cause)) << "its own log says why";
}

TEST_F(World, NoElementsAtAllAreAnOperationOfEachKind) {
  const auto job = new_job_id();
  for (const char* sat : {"0", "1"})
    expect_well(3,
                [&](Rank& rank) {
                  auto* context = rank.init(job);
                  auto* comm = rank.comm(context);
                  for (const bool with_memory : {false, true}) {
                    std::int32_t memory[2] = {5, 6};
                    void* pointer = with_memory ? memory : nullptr;
                    auto reduce = reduce_spec(pointer, pointer, 0, Dtype::int32, Op::sum);
                    reduce.root = 1;
                    reduce.offset = 0;
                    sharp_coll_bcast_spec bcast{};
                    bcast.buf_desc = reduce.sbuf_desc;
                    sharp_coll_gather_spec gather{};
                    gather.sbuf_desc = gather.rbuf_desc = reduce.sbuf_desc;
                    RANK_EQUAL(sharp_coll_do_allreduce(comm, &reduce), 0);
                    RANK_EQUAL(sharp_coll_do_reduce(comm, &reduce), 0);
                    RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &reduce), 0);
                    RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), 0);
                    RANK_EQUAL(sharp_coll_do_allgather(comm, &gather), 0);
                    RANK_CHECK(memory[0] == 5 && memory[1] == 6);
                  }
                  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
                  RANK_EQUAL(sharp_coll_finalize(context), 0);
                },
                {{"SHARP_COLL_ENABLE_SAT", sat}});
}

}  // namespace
}  // namespace sumac::client::test
