// A rank that forked is killed: its child lives on with a copy of all its resources, and the other ranks still learn of
// the death.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "client/world/test_sleepers.hpp"
#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

/// The next allreduce of a survivor ends with an error that names the dead rank.
void expect_death_of_rank_1(sharp_coll_comm* comm) {
  std::int32_t in = 1, out = 0;
  auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), SHARP_COLL_ERROR);
  char text[256];
  RANK_EQUAL(sumac_comm_error(comm, text, sizeof text), SHARP_COLL_ERROR);
  RANK_CHECK(std::strstr(text, "rank 1") != nullptr);
}

TEST_F(World, AForkedChildDoesNotHideItsParentsDeath) {
  struct Row {
    const char* name;
    void (*before_init)(const Sleepers&);
    void (*before_comm)(const Sleepers&);
    void (*before_death)(const Sleepers&);
  };
  const auto nothing = [](const Sleepers&) {};
  const auto one = [](const Sleepers& sleepers) { sleepers.fork_one(); };
  const Row rows[] = {
      {"a child with a communicator", nothing, nothing, one},
      {"a child before the communicator", nothing, one, nothing},
      {"a child before everything, and one after it", one, nothing, one},
      {"children of children", nothing, nothing, [](const Sleepers& sleepers) { sleepers.fork_one(3); }},
      {"a child of another thread", nothing, nothing,
       [](const Sleepers& sleepers) { std::thread([&] { sleepers.fork_one(); }).join(); }},
      {"many", nothing, one,
       [](const Sleepers& sleepers) {
         for (int i = 0; i < 8; ++i) sleepers.fork_one();
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto job = new_job_id();
    const Sleepers sleepers;
    auto config = on(*daemons_, 3);
    config.limit = std::chrono::seconds(20);
    const auto ended = run_ranks(config, [&](Rank& rank) {
      const auto forks = [&](void (*when)(const Sleepers&)) {
        if (rank.rank == 1) when(sleepers);
      };
      forks(row.before_init);
      auto* context = rank.init(job);
      forks(row.before_comm);
      auto* comm = rank.comm(context);
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
      forks(row.before_death);
      if (rank.rank == 1) ::raise(SIGKILL);
      expect_death_of_rank_1(comm);
      RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
      RANK_EQUAL(sharp_coll_finalize(context), 0);
    });
    EXPECT_EQ(ended[0].status, 0) << ended[0].err << daemons_->log();
    EXPECT_EQ(ended[1].status, 128 + SIGKILL);
    EXPECT_EQ(ended[2].status, 0) << ended[2].err;
  }
}

TEST_F(World, OfSeveralContextsNoneHidesADeath) {
  const std::uint64_t jobs[] = {new_job_id(), new_job_id()};
  const Sleepers sleepers;
  auto config = on(*daemons_, 2);
  config.limit = std::chrono::seconds(20);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    sharp_coll_comm* comms[2];
    for (int i = 0; i < 2; ++i) {
      auto* context = rank.init(jobs[i]);
      if (rank.rank == 1) sleepers.fork_one();
      comms[i] = rank.comm(context);
    }
    for (auto* comm : comms) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    if (rank.rank == 1) ::raise(SIGKILL);
    for (auto* comm : comms) expect_death_of_rank_1(comm);
  });
  EXPECT_EQ(ended[0].status, 0) << ended[0].err << daemons_->log();
}

/// A child may call the library that it inherited, leave by exit(), or begin a job of its own. The parent is not
/// disturbed.
TEST_F(World, AForkedChildDoesNotDisturbItsParent) {
  const auto job = new_job_id();
  const std::uint64_t own_jobs[] = {new_job_id(), new_job_id()};
  expect_well(2, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto child = [&](auto&& body) {
      const pid_t pid = ::fork();
      if (pid == 0) body();
      int status = -1;
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);  // While the child runs.
      RANK_EQUAL(::waitpid(pid, &status, 0), pid);
      RANK_EQUAL(status, 0);
      RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    };
    child([] { std::exit(0); });  // With all destructors.
    child([&] {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) std::abort();
      const bool refused = sharp_coll_comm_destroy(comm) < 0 && sharp_coll_finalize(context) < 0;
      Rank alone{0, 1, {}};
      auto* own = alone.init(own_jobs[rank.rank]);
      auto* group = alone.comm(own);
      const bool works =
          sharp_coll_do_barrier(group) == 0 && sharp_coll_comm_destroy(group) == 0 && sharp_coll_finalize(own) == 0;
      std::exit(refused && works ? 0 : 1);
    });
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

/// No process closes the child's copies, so sharpd, which learns of the death from the kernel, reports it.
TEST_F(World, AChildThatRunsNoHandlerDoesNotHideItsParentsDeath) {
  const auto job = new_job_id();
  const Sleepers sleepers;
  auto config = on(*daemons_, 3);
  config.limit = std::chrono::seconds(20);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    auto* others = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    if (rank.rank == 1) sleepers.clone_one();
    if (rank.rank == 1) ::raise(SIGKILL);
    expect_death_of_rank_1(comm);
    expect_death_of_rank_1(others);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(ended[0].status, 0) << ended[0].err << daemons_->log();
  EXPECT_EQ(ended[1].status, 128 + SIGKILL);
  EXPECT_EQ(ended[2].status, 0) << ended[2].err;
  EXPECT_TRUE(daemons_->says("rank 1 died: "));
}

/// A rank that has left may end in any manner: the others' communicators remain.
TEST_F(World, AnEndAfterLeavingIsNoDeath) {
  const auto job = new_job_id();
  const Sleepers sleepers;
  expect_well(3, [&](Rank& rank) {
    auto* context = rank.init(job);
    if (rank.rank == 2) {
      RANK_EQUAL(sharp_coll_finalize(context), 0);
      rank.barrier();
      sleepers.clone_one();
      std::_Exit(0);
    }
    rank.barrier();
    Rank pair = rank;
    pair.size = 2;
    auto* comm = pair.comm(context);
    for (int i = 0; i < 100; ++i) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(daemons_->log().find("rank 2 died"), std::string::npos) << daemons_->log();
}

}  // namespace
}  // namespace sumac::client::test
