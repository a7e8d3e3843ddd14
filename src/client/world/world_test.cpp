// libsharp_coll through real daemons on loopback: its results and its behaviour. Ranks are processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "client/world/test_world.hpp"
#include "reduce/reference.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

/// Stores a small whole number as a value of the type: exact in each type, also as a sum of a few.
void put_value(Dtype dtype, unsigned value, std::byte* to) {
  const auto store = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (dtype) {
    case Dtype::uint8: return store(static_cast<std::uint8_t>(value));
    case Dtype::int8: return store(static_cast<std::int8_t>(value));
    case Dtype::uint16: return store(static_cast<std::uint16_t>(value));
    case Dtype::int16: return store(static_cast<std::int16_t>(value));
    case Dtype::uint32: return store(static_cast<std::uint32_t>(value));
    case Dtype::int32: return store(static_cast<std::int32_t>(value));
    case Dtype::uint64: return store(static_cast<std::uint64_t>(value));
    case Dtype::int64: return store(static_cast<std::int64_t>(value));
    case Dtype::float32: return store(static_cast<float>(value));
    case Dtype::float64: return store(static_cast<double>(value));
    case Dtype::float16: return store(reduce::float16_nearest(value));
    case Dtype::bfloat16: return store(reduce::bfloat16_nearest(value));
    case Dtype::null: break;
  }
}

/// Returns the contribution of rank `rank`: values 0 to 4 that differ by rank and index, tags that differ by rank.
std::vector<std::byte> contribution(int rank, std::size_t count, Dtype dtype, Op op, Dtype tag) {
  const auto element = element_bytes(dtype, op, tag);
  std::vector<std::byte> bytes(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* at = bytes.data() + i * element;
    put_value(dtype, static_cast<unsigned>((static_cast<std::size_t>(rank) * 3 + i * 7 + i / 5) % 5), at);
    if (!is_pair(op)) continue;
    const auto tag_value = static_cast<std::int32_t>((rank * 5 + static_cast<int>(i)) % 11);
    std::byte* tag_at = at + pair_layout(dtype, tag).tag_at;
    put_value(tag == Dtype::null ? Dtype::int32 : tag, static_cast<unsigned>(tag_value), tag_at);
  }
  return bytes;
}

std::vector<std::byte> expected_of(int ranks, std::size_t count, Dtype dtype, Op op, Dtype tag) {
  auto result = contribution(0, count, dtype, op, tag);
  for (int rank = 1; rank < ranks; ++rank)
    reduce::reference_reduce(op, dtype, tag, result.data(), contribution(rank, count, dtype, op, tag).data(), count);
  return result;
}

template <class F>
void each_legal(F&& visit) {
  for (unsigned dtype = 0; dtype < kDtypeCount; ++dtype)
    for (unsigned op = 0; op < kOpCount; ++op)
      for (unsigned tag = 0; tag <= kDtypeCount; ++tag) {
        if (!is_pair(static_cast<Op>(op)) && tag != kDtypeCount) continue;
        if (is_float(static_cast<Dtype>(tag))) continue;  // The interface's tags are integers.
        if (legal(static_cast<Dtype>(dtype), static_cast<Op>(op), static_cast<Dtype>(tag)))
          visit(static_cast<Dtype>(dtype), static_cast<Op>(op), static_cast<Dtype>(tag));
      }
}

TEST_F(World, EveryLegalTypeAndOperationIsExact) {
  const auto job = new_job_id();
  expect_well(5, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    each_legal([&](Dtype dtype, Op op, Dtype tag) {
      for (const std::size_t count : {1, 37, 300}) {
        const auto in = contribution(rank.rank, count, dtype, op, tag);
        const auto expected = expected_of(rank.size, count, dtype, op, tag);
        std::vector<std::byte> out(in.size(), std::byte{0xEE});
        auto spec = reduce_spec(in.data(), out.data(), count, dtype, op, tag);
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
        if (out != expected)
          std::fprintf(stderr, "%s of %s with tag %s, count %zu\n", to_string(op).data(), to_string(dtype).data(),
                       to_string(tag).data(), count);
        RANK_CHECK(out == expected);
        if (count != 37) continue;
        auto both = in;  // In place, nonblocking.
        spec = reduce_spec(both.data(), both.data(), count, dtype, op, tag);
        void* handle = nullptr;
        RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handle), 0);
        while (sharp_coll_req_test(handle) == 0) {
        }
        RANK_EQUAL(sharp_coll_req_test(handle), 1);
        RANK_EQUAL(sharp_coll_req_free(handle), 0);
        RANK_CHECK(both == expected);
      }
    });
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, StreamingBeginsAtTheThresholdAndIsExactAtEverySize) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto info = info_of(comm);
    RANK_EQUAL(info.stream_window, 16u);
    RANK_EQUAL(info.chunk_bytes, 65536u);
    RANK_EQUAL(info.group_size, 3u);
    RANK_EQUAL(info.depth, rank.rank < 2 ? 2u : 1u);  // The third is alone on its leaf.
    std::uint64_t streamed = 0;
    for (const std::size_t count : {4095u, 4096u, 16384u, 16385u, 1'500'000u}) {
      std::vector<std::int32_t> in(count), out(count);
      for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<std::int32_t>(i) + rank.rank;
      auto spec = reduce_spec(in.data(), out.data(), count, Dtype::int32, Op::sum);
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      for (std::size_t i = 0; i < count; ++i) RANK_EQUAL(out[i], 3 * static_cast<std::int32_t>(i) + 3);
      if (count >= 4096) ++streamed;
    }
    std::int32_t one = 1, sum = 0;
    auto spec = reduce_spec(&one, &sum, 1, Dtype::int32, Op::sum);
    spec.aggr_mode = SHARP_AGGREGATION_STREAMING;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_EQUAL(sum, 3);
    const auto stats = stats_of(context);
    RANK_EQUAL(stats.per_coll[SUMAC_STATS_ALLREDUCE].posted, 6u);
    RANK_EQUAL(stats.per_coll[SUMAC_STATS_ALLREDUCE].answered, 6u);
    RANK_EQUAL(stats.per_coll[SUMAC_STATS_ALLREDUCE].streamed, streamed + 1);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  expect_well(3, body, {{"SHARP_COLL_ENABLE_SAT", "1"}});
}

TEST_F(World, FiveHundredAndTwelveOutstandingInAnyOrder) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    constexpr int kMany = 512;
    std::vector<std::int64_t> in(kMany), out(kMany);
    std::vector<void*> handles(kMany);
    for (int i = 0; i < kMany; ++i) {
      in[i] = i * 10 + rank.rank;
      auto spec = reduce_spec(&in[i], &out[i], 1, Dtype::int64, Op::sum);
      RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handles[i]), 0);
    }
    void* too_many = &in;
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &too_many), SHARP_COLL_ENO_RESOURCE);
    RANK_CHECK(too_many == nullptr);
    for (int i = kMany - 1; i >= 0; --i) {  // Last first, and in another order at each rank.
      const int which = (i * (rank.rank * 2 + 1)) % kMany;
      while (sharp_coll_req_test(handles[which]) != 1) {
      }
      RANK_EQUAL(out[which], which * 30 + 3);
    }
    for (void* handle : handles) RANK_EQUAL(sharp_coll_req_free(handle), 0);
    RANK_EQUAL(sharp_coll_req_free(handles[0]), SHARP_COLL_EINVAL);  // Misuse is detected.
    RANK_EQUAL(sharp_coll_req_wait(handles[1]), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_req_test(nullptr), 1);
    RANK_EQUAL(sharp_coll_req_free(nullptr), 0);
    void* barrier = nullptr;
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &barrier), 0);
    RANK_EQUAL(sharp_coll_req_wait(barrier), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, SeveralContextsAndCommunicatorsInAnyOrder) {
  const auto first_job = new_job_id(), second_job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    for (int round = 0; round < 2; ++round) {
      auto* a = rank.init(first_job);
      auto* b = rank.init(second_job);
      auto* a1 = rank.comm(a);
      auto* b1 = rank.comm(b);
      auto* a2 = rank.comm(a);
      std::int32_t in = rank.rank + 1;
      for (auto* comm : {b1, a2, a1, a1, b1}) {
        std::int32_t out = 0;
        auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::prod);
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
        RANK_EQUAL(out, 6);
      }
      RANK_EQUAL(sharp_coll_comm_destroy(a1), 0);
      RANK_EQUAL(sharp_coll_do_barrier(a2), 0);
      RANK_EQUAL(sharp_coll_comm_destroy(b1), 0);
      RANK_EQUAL(sharp_coll_finalize(b), 0);
      RANK_EQUAL(sharp_coll_do_barrier(a2), 0);
      RANK_EQUAL(sharp_coll_comm_destroy(a2), 0);
      RANK_EQUAL(sharp_coll_finalize(a), 0);
    }
  });
}

TEST_F(World, WhatIsNotOfferedSaysSoEverywhereAndDisturbsNothing) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto reduce = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    auto rootless = reduce;
    rootless.root = 2;
    void* handle = &in;
    RANK_EQUAL(sharp_coll_do_reduce(comm, &rootless), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_reduce_nb(comm, &rootless, &handle), SHARP_COLL_EINVAL);
    RANK_CHECK(handle == nullptr);
    auto beyond = reduce;
    beyond.offset = 8;  // The window has 2 x 4 bytes.
    RANK_EQUAL(sharp_coll_do_reduce_scatter(comm, &beyond), SHARP_COLL_EINVAL);
    float value = 1, result = 0;
    auto illegal = reduce_spec(&value, &result, 1, Dtype::float32, Op::sum);
    illegal.op = SHARP_OP_BAND;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &illegal), SHARP_COLL_ENOT_SUPP);
    illegal = reduce_spec(&value, &result, 1, Dtype::float32, Op::sum);
    illegal.sbuf_desc.mem_type = SHARP_MEM_TYPE_CUDA;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &illegal), SHARP_COLL_ENOT_SUPP);
    illegal = reduce_spec(&value, &result, 1, Dtype::float32, Op::sum);
    illegal.aggr_mode = SHARP_AGGREGATION_STREAMING;  // Without SHARP_COLL_ENABLE_SAT.
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &illegal), SHARP_COLL_ENOT_SUPP);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, nullptr), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &reduce), 0);
    RANK_EQUAL(out, 2);

    sharp_coll_caps caps;
    RANK_EQUAL(sharp_coll_caps_query(context, &caps), 0);
    RANK_EQUAL(caps.support_mask.dtypes, 0xFFFu);
    RANK_EQUAL(caps.support_mask.reduce_ops, 0xFFFu);
    RANK_EQUAL(caps.support_mask.feature_mask, SHARP_FEATURE_LLT);
    RANK_EQUAL(caps.resources.user_data_per_ost, 1024);
    RANK_CHECK(caps.resources.max_osts > 1 && caps.resources.osts_per_group > 1 && caps.resources.max_groups > 1);

    void *one = nullptr, *other = nullptr;
    sharp_coll_reg_params params{};
    params.field_mask = SHARP_COLL_REG_FIELD_DMABUF_FD;
    params.dmabuf_fd = -1;
    RANK_EQUAL(sharp_coll_reg_mr(context, &in, sizeof in, &one), 0);
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, &in, sizeof in, &params, &other), 0);
    RANK_CHECK(one != nullptr && other != nullptr);
    params.dmabuf_fd = 5;
    RANK_EQUAL(sharp_coll_reg_mr_v2(context, &in, sizeof in, &params, &other), SHARP_COLL_ENOT_SUPP);
    reduce.sbuf_desc.buffer.mem_handle = one;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &reduce), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, one), 0);
    RANK_EQUAL(sharp_coll_dereg_mr(context, &in), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_progress(context), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ListsAndGroupsOfAPart) {
  const auto job = new_job_id();
  expect_well(4, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    std::int32_t a[3] = {1, 2, 3}, b[5] = {4, 5, 6, 7, 8}, x[8] = {};
    sharp_data_iov pieces[2] = {{a, sizeof a, nullptr}, {b, sizeof b, nullptr}};
    auto spec = reduce_spec(nullptr, x, 8, Dtype::int32, Op::sum);
    spec.sbuf_desc.type = SHARP_DATA_IOV;
    spec.sbuf_desc.iov.count = 2;
    spec.sbuf_desc.iov.vector = pieces;
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    for (int i = 0; i < 8; ++i) RANK_EQUAL(x[i], 4 * (i + 1));

    // A group of ranks 0 and 2 (of two hosts): rank 0 of the star stays the out-of-band root.
    if (rank.rank == 0 || rank.rank == 2) {
      Rank part = rank;
      part.rank = rank.rank / 2;
      part.size = 2;
      if (rank.rank == 0) part.peer = {-1, rank.peer[2]};
      auto* half = part.comm(context);
      std::int32_t in = rank.rank, out = 0;
      auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      RANK_EQUAL(sharp_coll_do_allreduce(half, &sum), 0);
      RANK_EQUAL(out, 2);
      RANK_EQUAL(sharp_coll_comm_destroy(half), 0);
    }
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, AChildOfForkFailsCleanlyAndItsParentGoesOn) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    void* handle = nullptr;
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &handle), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) std::abort();
      std::int32_t in = 1, out = 0;
      auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      const bool all_refused = sharp_coll_do_barrier(comm) < 0 && sharp_coll_do_allreduce(comm, &spec) < 0 &&
                               sharp_coll_progress(context) < 0 && sharp_coll_req_wait(handle) < 0 &&
                               sharp_coll_comm_destroy(comm) < 0 && sharp_coll_finalize(context) < 0;
      ::_exit(all_refused ? 0 : 1);
    }
    int status = -1;
    RANK_EQUAL(::waitpid(child, &status, 0), child);
    RANK_EQUAL(status, 0);
    RANK_EQUAL(sharp_coll_req_wait(handle), 0);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ThreadsEachWithACommunicatorOfTheirOwn) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.enable_thread_support = 1;
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    std::vector<sharp_coll_comm*> comms;
    for (int i = 0; i < 4; ++i) comms.push_back(rank.comm(context));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (std::int64_t i = 0; i < 200; ++i) {
          std::int64_t in = i * (t + 1), out = 0;
          auto sum = reduce_spec(&in, &out, 1, Dtype::int64, Op::sum);
          if (i % 2 == 0) {
            RANK_EQUAL(sharp_coll_do_allreduce(comms[static_cast<std::size_t>(t)], &sum), 0);
          } else {
            void* handle = nullptr;
            RANK_EQUAL(sharp_coll_do_allreduce_nb(comms[static_cast<std::size_t>(t)], &sum, &handle), 0);
            RANK_EQUAL(sharp_coll_req_wait(handle), 0);
          }
          RANK_EQUAL(out, 2 * in);
        }
      });
    for (auto& thread : threads) thread.join();
    for (auto* comm : comms) RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ABlockingCallWaitsForRoomThatAnotherThreadMakes) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.enable_thread_support = 1;
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    auto* comm = rank.comm(context);
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      while (!is_over) RANK_EQUAL(sharp_coll_progress(context), 0);
    });
    std::int32_t in = 1, out = 0;
    auto bad = reduce_spec(&in, nullptr, 1, Dtype::int32, Op::sum);
    for (int i = 0; i < 20'000; ++i) RANK_EQUAL(sharp_coll_do_allreduce(comm, &bad), SHARP_COLL_EINVAL);
    auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &sum), 0);
    RANK_EQUAL(out, 2);
    is_over = true;
    other.join();
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  };
  expect_well(2, body, {{"SHARP_COLL_LOG_LEVEL", "0"}});
}

int progress_calls = 0;
int count_progress() { return ++progress_calls; }

TEST_F(World, AWaitingRankDrivesItsCaller) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.progress_func = count_progress;
    spec.config.user_progress_num_polls = 1'000'000'000;  // So only the time can trigger the call.
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    auto* comm = rank.comm(context);
    progress_calls = 0;
    if (rank.rank == 0) {
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
      RANK_CHECK(progress_calls >= 20);
    } else {
      // A computation of 60 ms: rank 0 must have driven its caller about once in each millisecond of it.
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
      while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    }
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, LeaveCanBePostedWithoutWaiting) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    void *pending = nullptr, *leave = nullptr;
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &pending), 0);
    if (rank.rank == 0) RANK_EQUAL(sumac_comm_leave_nb(comm, &leave), SHARP_COLL_EINVAL);
    rank.barrier();
    RANK_EQUAL(sharp_coll_req_wait(pending), 0);
    RANK_EQUAL(sumac_comm_leave_nb(comm, &leave), 0);
    void* second = nullptr;
    RANK_EQUAL(sumac_comm_leave_nb(comm, &second), SHARP_COLL_EINVAL);
    RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_EINVAL);
    const int fd = sumac_coll_wait_fd(context);
    RANK_CHECK(fd >= 0);
    while (sumac_req_status(leave, nullptr, 0) == 0) {
    }
    RANK_EQUAL(sumac_req_status(leave, nullptr, 0), 1);
    RANK_EQUAL(sharp_coll_req_free(leave), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, ACommunicatorIsDestroyedUnderItsPendingOperations) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    for (int turn = 0; turn < 5; ++turn) {
      auto* comm = rank.comm(context);
      std::array<std::int32_t, 4> in{}, out{};
      std::array<void*, 4> pending{};
      for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = rank.rank + static_cast<std::int32_t>(i);
        auto sum = reduce_spec(&in[i], &out[i], 1, Dtype::int32, Op::sum);
        RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &sum, &pending[i]), 0);
      }
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      for (std::size_t i = 0; i < in.size(); ++i) {
        RANK_EQUAL(sharp_coll_req_wait(pending[i]), 0);
        RANK_EQUAL(out[i], 1 + 2 * static_cast<std::int32_t>(i));
      }
    }
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(World, WhoLeavesLateIsNoErrorForWhoIsThrough) {
  const auto job = new_job_id();
  const auto body = [&](Rank& rank) {
    auto init = rank.init_spec(job);
    init.config.coll_timeout = 1;  // A program's own default may be as short: MVAPICH's is 100.
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&init, &context), 0);
    for (int turn = 0; turn < 5; ++turn) {
      auto *comm = rank.comm(context), *other = rank.comm(context);
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
      // Rank 1 does not leave before rank 0 has returned; then the roles are reversed.
      if (rank.rank == turn % 2) RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      rank.barrier();
      RANK_EQUAL(sharp_coll_do_barrier(other), 0);
      if (rank.rank != turn % 2) RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_do_barrier(other), 0);
      RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
    }
    // The same holds if it ends its whole job meanwhile.
    auto* last = rank.comm(context);
    std::int32_t in = 1, out = 0;
    auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(last, &sum), 0);
    if (rank.rank != 0) rank.barrier();
    RANK_EQUAL(sharp_coll_comm_destroy(last), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
    if (rank.rank == 0) rank.barrier();
  };
  const auto ended = run(2, {}, body);
  EXPECT_EQ(ended[0].err + ended[1].err, "");
}

TEST_F(World, StatisticsAreSummedOverRanksWhenAskedFor) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 3);
  config.environment = {{"SHARP_COLL_STATS_DUMP_MODE", "2"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (int i = 0; i < 5; ++i) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_dump_stats(context), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err, HasSubstr("statistics of 3 ranks: barrier: posted:15 answered:15 failed:0"));
  EXPECT_THAT(ended[2].err, HasSubstr("statistics of rank 2: barrier: posted:5 answered:5"));
}

TEST_F(World, StatisticsAreEachRanksOwnWhereNothingCanBeExchangedAnyMore) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_STATS_DUMP_MODE", "2"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    static bool is_over = false;
    auto init = rank.init_spec(job);
    init.oob_colls.gather = [](void* context, int root, void* mine, void* all, int length) {
      return is_over ? -1 : oob_gather(context, root, mine, all, length);
    };
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&init, &context), 0);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    is_over = true;
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  for (const int rank : {0, 1})
    EXPECT_THAT(ended[static_cast<std::size_t>(rank)].err,
                HasSubstr("statistics of rank " + std::to_string(rank) + ": barrier: posted:1 answered:1"));
}

TEST_F(World, ANodesStatisticsNameTheHostsOfItsRanks) {
  const auto job = new_job_id();
  expect_well(4, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  for (const char* node : {"an-leaf2", "an-root"}) ASSERT_EQ(::kill(daemons_->pid(node), SIGUSR1), 0);
  for (const char* words : {"rank 2 on host h3 (", "rank 3 on host h4 (", "node an-leaf1 ("})
    EXPECT_TRUE(daemons_->says(words)) << words << daemons_->log();
}

TEST_F(World, TheLinesUsersKnowComeFromRankZeroOnly) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SHARP_COLL_LOG_LEVEL", "3"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
  EXPECT_THAT(ended[0].err,
              testing::ContainsRegex("INFO job \\(ID: [0-9]+\\) resource request quota: \\( osts:0 user_data_per_ost:0 "
                                     "max_groups:0 max_qps:1 max_group_channels:1, num_trees:1\\)"));
  EXPECT_THAT(ended[0].err,
              testing::ContainsRegex("INFO tree_info: tree idx:0 quota: \\( osts:[0-9]+ user_data_per_ost:1024 "));
  EXPECT_THAT(ended[0].err, testing::ContainsRegex(
                                "INFO \\[group#:0\\] group id: [0-9a-f]+ tree idx:0 rail_idx:0 group size:2 quota: \\( "
                                "osts:[0-9]+ user_data_per_ost:1024 \\) mgid: \\( subnet prefix: 0x0 "));
  EXPECT_EQ(ended[1].err, "");
}

}  // namespace
}  // namespace sumac::client::test
