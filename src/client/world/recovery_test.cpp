// SUMAC_RECOVERY=1 through real daemons: a job goes on with exact results when a node is killed, also while ranks compute,
// and survivors of a rank agree.
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>

#include "base/clock.hpp"
#include "client/world/test_recovery.hpp"

namespace sumac::client::test {
namespace {

using testing::HasSubstr;

constexpr int kRanksMax = 8;

/// The ranks and the test share this. Times are those of CLOCK_MONOTONIC, the same in all processes.
struct Shared {
  std::atomic<std::int64_t> killed{};  ///< When.
  std::atomic<std::int64_t> resumed[kRanksMax];
  std::atomic<int> operations[kRanksMax];  ///< Those that succeeded.
  char text[kRanksMax][512];
};
Shared& shared() {
  static auto* const made =
      static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return *made;
}
std::int64_t now_ns() { return monotonic_now().time_since_epoch().count(); }

/// Notes the first call that was held up by the kill: without one a call takes far less than a millisecond.
int operate_timed(sharp_coll_comm* comm, const Rank& rank, int i) {
  const auto began = now_ns();
  const int status = operate(comm, rank.rank, rank.size, i);
  const auto ended = now_ns();
  if (status == 0) ++shared().operations[rank.rank];
  const auto killed = shared().killed.load();
  if (killed != 0 && ended > killed && ended - began > 1'000'000 && shared().resumed[rank.rank] == 0)
    shared().resumed[rank.rank] = ended;
  return status;
}

/// Runs the loop in `size` ranks, and kills `victim` when it has begun. Returns the milliseconds until all went on.
double run_with_a_kill(const Shape& shape, const std::string& victim, int size, int operations) {
  Daemons daemons(shape);
  const auto job = new_job_id();
  new (&shared()) Shared{};
  const Signal ready;
  auto config = on(daemons, size);
  config.environment = kOn;
  config.meanwhile = [&] {
    ready.await(size);
    shared().killed = now_ns();
    daemons.signal(victim, SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (int i = 0;; ++i) {
      if (i == operations / 3) ready.give();
      // The number of operations is one that all know.
      if (i >= operations && i % 100 == 0) {
        std::int32_t goes_on = shared().resumed[rank.rank] == 0 ? 1 : 0, any = 0;
        auto spec = reduce_spec(&goes_on, &any, 1, Dtype::int32, Op::max);
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
        if (any == 0) break;
      }
      RANK_EQUAL(operate_timed(comm, rank, i), 0);
    }
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  EXPECT_THAT(ended[0].err, HasSubstr("go on among themselves"));
  double last = 0;
  for (int rank = 0; rank < size; ++rank)
    last = std::max(last, static_cast<double>(shared().resumed[rank] - shared().killed) / 1e6);
  return last;
}

TEST(Recovery, AJobGoesOnWithExactResultsWhenItsNodeIsKilled) {
  const char* times = std::getenv("SUMAC_TEST_KILLS");
  std::vector<double> resume;
  for (int i = 0; i < (times == nullptr ? 5 : std::atoi(times)); ++i) {
    SCOPED_TRACE(i);
    resume.push_back(run_with_a_kill({.leaves = {"leaf1"}, .hosts_per_leaf = 2}, "an-leaf1", 4, 3000));
    if (HasFailure()) return;
  }
  std::ranges::sort(resume);
  std::printf("from the kill to the return at the last member: median %.1f ms, most %.1f ms of %zu\n",
              resume[resume.size() / 2], resume.back(), resume.size());
}

TEST(Recovery, AJobGoesOnWhenALeafOrTheRootIsKilled) {
  for (const std::string victim : {"an-leaf2", "an-root"}) {
    SCOPED_TRACE(victim);
    run_with_a_kill(kTwoLeaves, victim, 4, 2000);
  }
}

TEST(Recovery, SeveralOperationsInFlightGoOn) {
  Daemons daemons({.leaves = {"leaf1"}, .hosts_per_leaf = 2});
  const auto job = new_job_id();
  const Signal ready;
  auto config = on(daemons, 3);
  config.environment = kOn;
  config.meanwhile = [&] {
    ready.await(3);
    daemons.signal("an-leaf1", SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto *comm = rank.comm(context), *other = rank.comm(context);
    constexpr int kDepth = 8, kRounds = 1500;
    for (int round = 0; round < kRounds; ++round) {
      if (round == kRounds / 3) ready.give();
      std::int32_t in[kDepth][300], out[kDepth][300];
      void* requests[kDepth];
      for (int k = 0; k < kDepth; ++k) {
        for (auto& each : in[k]) each = (rank.rank + 1) * (round + k);
        auto spec = reduce_spec(in[k], out[k], k % 2 == 0 ? 1 : 300, Dtype::int32, Op::sum);
        RANK_EQUAL(sharp_coll_do_allreduce_nb(k % 3 == 0 ? other : comm, &spec, &requests[k]), 0);
      }
      for (int k = kDepth - 1; k >= 0; --k) {
        RANK_EQUAL(sharp_coll_req_wait(requests[k]), 0);
        RANK_EQUAL(out[k][k % 2 == 0 ? 0 : 299], 6 * (round + k));
      }
    }
    RANK_EQUAL(sharp_coll_comm_destroy(other), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
}

/// Ranks 0 (which is to be the root of the members) and 2 have posted their parts, and compute until the others have their results.
TEST(Recovery, RanksThatComputeAnswerTheOthers) {
  Daemons daemons({.leaves = {"leaf1"}, .hosts_per_leaf = 2});
  const auto job = new_job_id();
  new (&shared()) Shared{};
  const Signal ready;
  auto config = on(daemons, 4);
  config.environment = kOn;
  config.meanwhile = [&] {
    ready.await(4);
    shared().killed = now_ns();
    daemons.signal("an-leaf1", SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    const bool computes = rank.rank % 2 == 0;
    std::int32_t in = rank.rank + 1, out = 0;
    auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
    void* request = nullptr;
    if (computes) RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &request), 0);
    ready.give();
    if (computes) {
      // It may also sit in a call that knows nothing of us. If the others waited for it, all would wait until the test's limit.
      while (shared().resumed[1] == 0 || shared().resumed[3] == 0) ::poll(nullptr, 0, 1);
      RANK_EQUAL(sharp_coll_req_wait(request), 0);
    } else {
      while (shared().killed == 0) ::poll(nullptr, 0, 1);
      ::poll(nullptr, 0, 20);
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      shared().resumed[rank.rank] = now_ns();
    }
    RANK_EQUAL(out, 10);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  for (const int rank : {1, 3}) {
    const double ms = static_cast<double>(shared().resumed[rank] - shared().killed) / 1e6;
    std::printf("rank %d had its result %.1f ms after the kill\n", rank, ms);
  }
}

/// Survivors stop at the same operation with the same words.
void kill_a_rank(const Daemons& daemons, const std::vector<std::string>& sockets, Daemons* node_dies_too) {
  const auto job = new_job_id();
  new (&shared()) Shared{};
  RanksConfig config;
  config.size = 4;
  config.sockets = sockets;
  config.environment = kOn;
  const Signal ready;
  config.meanwhile = [&] {
    ready.await();
    if (node_dies_too != nullptr) node_dies_too->signal("an-leaf1", SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    int status = 0;
    for (int i = 0; status == 0; ++i) {
      if (rank.rank == 2 && i == 300) ready.give();
      if (rank.rank == 2 && i == 600) ::raise(SIGKILL);
      std::int32_t in = i, out = 0;
      auto spec = reduce_spec(&in, &out, 1, Dtype::int32, Op::sum);
      status = sharp_coll_do_allreduce(comm, &spec);
      if (status == 0) {
        RANK_EQUAL(out, 4 * i);
        ++shared().operations[rank.rank];
      }
    }
    RANK_EQUAL(status, SHARP_COLL_ERROR);
    RANK_EQUAL(sumac_comm_error(comm, shared().text[rank.rank], sizeof shared().text[0]), SHARP_COLL_ERROR);
    RANK_EQUAL(sharp_coll_do_barrier(comm), SHARP_COLL_ERROR);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(ended[2].status, 128 + SIGKILL);
  for (const std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(ended[rank].status, 0) << ended[rank].err << daemons.log();
    EXPECT_EQ(shared().operations[rank], shared().operations[0]);
    EXPECT_STREQ(shared().text[rank], shared().text[0]);
    EXPECT_THAT(shared().text[rank], HasSubstr("rank 2"));
    EXPECT_THAT(shared().text[rank], HasSubstr("is dead"));
  }
}

TEST(Recovery, SurvivorsOfARankHaveTheSameVerdict) {
  Daemons daemons({.leaves = {"leaf1"}, .hosts_per_leaf = 2});
  {
    SCOPED_TRACE("ranks of one host");
    kill_a_rank(daemons, {daemons.socket_of(0)}, nullptr);
  }
  {
    SCOPED_TRACE("two hosts");
    kill_a_rank(daemons, {daemons.socket_of(0), daemons.socket_of(1)}, nullptr);
  }
  {
    SCOPED_TRACE("the node is killed too");
    kill_a_rank(daemons, {daemons.socket_of(1), daemons.socket_of(0)}, &daemons);
  }
}

/// Their own sharpds see nothing: the manager tells them.
TEST(Recovery, SurvivorsOfARankAloneOnItsHostHaveTheSameVerdict) {
  const Daemons daemons(kTwoLeaves);
  kill_a_rank(daemons, on(daemons, 4).sockets, nullptr);
}

// ---- the cost where nothing fails

/// The sockets of this process that listen.
int listening() {
  std::map<std::string, bool> inodes;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string field;
      std::vector<std::string> all;
      while (fields >> field) all.push_back(field);
      if (all.size() > 9 && all[3] == "0A") inodes["socket:[" + all[9] + "]"] = true;
    }
  }
  int found = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    char target[64] = "";
    const auto link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0 && inodes.contains(target)) ++found;
  }
  return found;
}

TEST_F(World, NothingListensWithoutRecovery) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 2);
  config.environment = {{"SUMAC_RECOVERY", "0"}};
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(listening(), 0);
    RANK_EQUAL(threads_named("sumac-recovery"), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "");
}

TEST_F(World, TheThreadOfRecoverySleepsWhileTheTreeLives) {
  const auto job = new_job_id();
  expect_well(
      2,
      [&](Rank& rank) {
        auto* context = rank.init(job);
        auto* comm = rank.comm(context);
        for (int i = 0; i < 100; ++i) RANK_EQUAL(operate(comm, rank.rank, 2, i), 0);
        RANK_EQUAL(listening(), 1);
        std::string before, after;
        RANK_EQUAL(threads_named("sumac-recovery", &before), 1);
        for (int i = 0; i < 2000; ++i) RANK_EQUAL(operate(comm, rank.rank, 2, i), 0);
        RANK_EQUAL(threads_named("sumac-recovery", &after), 1);
        RANK_CHECK(!before.empty() && before == after);
        rank.barrier();
        RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
        RANK_EQUAL(sharp_coll_finalize(context), 0);
        RANK_EQUAL(listening(), 0);
        RANK_EQUAL(threads_named("sumac-recovery"), 0);
      },
      kOn);
}

TEST_F(World, ARankWithRecoveryMayForkAndEndInAnyManner) {
  const auto job = new_job_id();
  run(3, kOn, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (rank.rank == 0) std::exit(0);  // With all destructors.
      std::_Exit(sharp_coll_finalize(context) < 0 ? 0 : 1);
    }
    int status = -1;
    RANK_EQUAL(::waitpid(child, &status, 0), child);
    RANK_EQUAL(status, 0);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    rank.barrier();
    if (rank.rank == 0) std::exit(0);  // Without finalize.
    if (rank.rank == 1) std::_Exit(0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
