// Sleeping until a message comes: on a request, and on the descriptor beside other threads of the process.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

class Sleep : public World {};

TEST_F(Sleep, ASleepOnARequestTellsWhetherToAsk) {
  const auto job = new_job_id();
  constexpr int kMinute = 60'000'000;
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);  // All messages from the beginning have arrived.
    void *first = nullptr, *second = nullptr;
    if (rank.rank == 0) {
      RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &first), 0);
      while (sumac_req_sleep(first, 300) != 0) RANK_EQUAL(sumac_req_status(first, nullptr, 0), 0);
    }
    rank.barrier();
    if (rank.rank != 0) RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &first), 0);
    RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &second), 0);
    // The answers wake it, a minute early; progress for the second request also completes the first, which needs no
    // sleep.
    while (sumac_req_status(second, nullptr, 0) == 0) RANK_EQUAL(sumac_req_sleep(second, kMinute), 1);
    RANK_EQUAL(sumac_req_sleep(first, kMinute), 1);
    RANK_EQUAL(sumac_req_status(first, nullptr, 0), 1);
    RANK_EQUAL(sharp_coll_req_free(first), 0);
    RANK_EQUAL(sharp_coll_req_free(second), 0);
    RANK_EQUAL(sumac_req_sleep(first, kMinute), 1);  // It is no longer valid.
    RANK_EQUAL(sumac_req_sleep(nullptr, kMinute), 1);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

// The thread that sleeps has armed the descriptor; then another one receives the message, here in the same thread.
TEST_F(Sleep, ABellRingsForASleeperWhoseMessageAnotherThreadTook) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const int bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    RANK_CHECK(bell >= 0);
    std::uint64_t rings = 0;
    RANK_EQUAL(sumac_coll_set_bell(context, bell), 0);
    void* request = nullptr;
    if (rank.rank == 0) {
      RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
      while (sumac_coll_arm(context) == 0) RANK_EQUAL(sumac_req_status(request, nullptr, 0), 0);
      RANK_EQUAL(::read(bell, &rings, sizeof rings), -1);
    }
    rank.barrier();
    if (rank.rank != 0) RANK_EQUAL(sharp_coll_do_barrier_nb(comm, &request), 0);
    while (sumac_req_status(request, nullptr, 0) == 0) {
    }
    RANK_EQUAL(sharp_coll_req_free(request), 0);
    RANK_EQUAL(::read(bell, &rings, sizeof rings), rank.rank == 0 ? 8 : -1);
    RANK_EQUAL(rings, std::uint64_t{rank.rank == 0 ? 1u : 0u});
    RANK_EQUAL(sumac_coll_arm(context), 0);  // An operation has ended, which its owner may not know yet.
    while (sumac_coll_arm(context) == 0) RANK_EQUAL(sharp_coll_progress(context), 0);
    RANK_EQUAL(sumac_coll_set_bell(context, -1), 0);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(::read(bell, &rings, sizeof rings), -1);
    ::close(bell);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

/// A thread that runs nonblocking sums and sleeps between them.
void sum_asleep(sharp_coll_context* context, sharp_coll_comm* comm, int bell, int rounds) {
  for (std::int32_t i = 0; i < rounds; ++i) {
    std::int32_t in = i, out = 0;
    auto sum = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    void* request = nullptr;
    RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &sum, &request), 0);
    while (sumac_req_status(request, nullptr, 0) == 0) {
      if (sumac_coll_arm(context) != 1) continue;
      pollfd on[2] = {{bell, POLLIN, 0}, {sumac_coll_wait_fd(context), POLLIN, 0}};
      RANK_CHECK(::poll(on, 2, 60'000) > 0);  // Nothing but a lost wake-up takes a minute.
      std::uint64_t rings = 0;
      if (on[0].revents != 0) RANK_EQUAL(::read(bell, &rings, sizeof rings), ssize_t{sizeof rings});
    }
    RANK_EQUAL(sumac_req_status(request, nullptr, 0), 1);
    RANK_EQUAL(sharp_coll_req_free(request), 0);
    RANK_EQUAL(out, 2 * i);
  }
}

TEST_F(Sleep, AThreadSleepsBesideBlockingCallsOfAnotherOne) {
  const auto job = new_job_id();
  expect_well(2, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.enable_thread_support = rank.rank == 0 ? 1 : 0;
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    auto *own = rank.comm(context), *other = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(own), 0);
    RANK_EQUAL(sumac_coll_enable_threads(context), 0);  // Rank 1 decides only now.
    const int bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    RANK_CHECK(bell >= 0);
    RANK_EQUAL(sumac_coll_set_bell(context, bell), 0);
    std::thread sleeper([&] { sum_asleep(context, other, bell, 300); });
    for (int i = 0; i < 300; ++i) RANK_EQUAL(sharp_coll_do_barrier(own), 0);
    sleeper.join();
    RANK_EQUAL(sumac_coll_set_bell(context, -1), 0);
    ::close(bell);
    RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(own), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
