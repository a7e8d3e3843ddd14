// Datagrams that the kernel answers, with real daemons and ranks on loopback: in a network namespace of the test's own, as root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "client/world/test_recovery.hpp"
#include "client/world/test_world.hpp"

namespace sumac::client::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Returns why not, or nothing.
std::string set_loopback(bool is_up) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = is_up ? IFF_UP | IFF_RUNNING : 0;
  const bool is_set = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return is_set ? "" : std::string("loopback: ") + std::strerror(errno);
}

/// Returns why there is no loopback of this test alone, or nothing.
std::string enter_own_network() {
  if (geteuid() != 0) return "only root may load a program into the kernel";
  if (unshare(CLONE_NEWNET) != 0) return std::string("no network namespace: ") + std::strerror(errno);
  return set_loopback(true);
}

class HopWorld : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = enter_own_network(); !why.empty()) GTEST_SKIP() << why;
    daemons_ = std::make_unique<Daemons>(two_leaves({{"SUMAC_NODE_HOP", "auto"}}));
    if (const auto log = daemons_->log(); log.find("SUMAC_NODE_HOP=auto: ") != std::string::npos)
      GTEST_SKIP() << log.substr(log.find("SUMAC_NODE_HOP=auto: "), 200);
  }
  std::unique_ptr<Daemons> daemons_;
};

constexpr int kOperations = 600;

/// Small and large operations in turn, checked.
void operations(Rank& rank, sharp_coll_comm* comm, int count) {
  std::vector<double> many(3'000), sums(many.size());
  for (int n = 0; n < count; ++n) {
    double mine[16], sum[16];
    const std::size_t words = n % 2 == 0 ? 1 : 16;
    for (std::size_t i = 0; i < words; ++i) mine[i] = n * 0.5 + rank.rank + static_cast<double>(i);
    auto spec = reduce_spec(mine, sum, words, Dtype::float64, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    for (std::size_t i = 0; i < words; ++i)
      RANK_CHECK(sum[i] == rank.size * (n * 0.5 + static_cast<double>(i)) + rank.size * (rank.size - 1) / 2);
    if (n % 5 == 0) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    if (n % 50 == 49) {  // These go by the links, in the same sequence.
      std::fill(many.begin(), many.end(), n + rank.rank);
      auto large = reduce_spec(many.data(), sums.data(), many.size(), Dtype::float64, Op::sum);
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &large), 0);
      for (const double value : sums) RANK_CHECK(value == rank.size * n + rank.size * (rank.size - 1) / 2);
      std::int32_t word = rank.rank == n % rank.size ? n : -1;
      sharp_coll_bcast_spec bcast{};
      bcast.root = n % rank.size;
      bcast.buf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{&word, sizeof word, nullptr}}};
      bcast.size = sizeof word;
      RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), 0);
      RANK_EQUAL(word, n);
    }
  }
}

/// Counts the UDP sockets of this process.
int datagram_sockets() {
  std::set<std::string> own;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    own.insert(std::filesystem::read_symlink(each.path(), error).string());
  std::ifstream table("/proc/self/net/udp");
  int found = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string inode;
    for (int column = 0; column < 10; ++column) words >> inode;
    found += static_cast<int>(own.count("socket:[" + inode + "]"));
  }
  return found;
}

TEST(HopIsOff, RanksOpenNoDatagramSocket) {
  if (const auto why = enter_own_network(); !why.empty()) GTEST_SKIP() << why;
  Daemons daemons(two_leaves({{"SUMAC_NODE_MCAST", "off"}}));
  const auto job = new_job_id();
  run_well(daemons, 4, {}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(datagram_sockets(), 0);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(HopWorld, BothWaysOfACommunicatorAreExact) {
  const auto job = new_job_id();
  const auto ended =
      run_well(*daemons_, 6, {{"SHARP_COLL_LOG_LEVEL", "3"}, {"SHARP_COLL_STATS_DUMP_MODE", "2"}}, [&](Rank& rank) {
        auto* context = rank.init(job);
        auto* comm = rank.comm(context);
        operations(rank, comm, kOperations);
        RANK_CHECK(stats_of(context).datagrams > kOperations / 2);
        RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
        RANK_CHECK(stats_of(context).datagrams > kOperations / 2);
        RANK_EQUAL(sharp_coll_finalize(context), 0);
      });
  EXPECT_THAT(ended[0].err, ContainsRegex("statistics of 6 ranks: .*, datagrams:[0-9]+"));
  EXPECT_THAT(ended[0].err, ContainsRegex("group [0-9a-f]+: operations of up to [0-9]+ B go by the hop"));
}

/// A bcast of a word of rank 0, which does not wait for the others.
void give_word(sharp_coll_comm* comm, int rank) {
  std::int32_t word = rank == 0 ? 7 : -1;
  sharp_coll_bcast_spec bcast{};
  bcast.buf_desc = {SHARP_DATA_BUFFER, SHARP_MEM_TYPE_HOST, {}, {{&word, sizeof word, nullptr}}};
  bcast.size = sizeof word;
  RANK_EQUAL(sharp_coll_do_bcast(comm, &bcast), 0);
  RANK_EQUAL(word, 7);
}

/// Each rank that has returned early waits elsewhere then, so only the thread of recovery can repeat its datagrams.
TEST_F(HopWorld, AllKindsGoAsDatagramsWhereAThreadRepeatsThem) {
  const auto job = new_job_id();
  const Signal ready;
  constexpr int kCalls = 400;
  run_well(*daemons_, 6, kOn, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (int n = 0; n < kCalls; ++n) RANK_EQUAL(operate(comm, rank.rank, rank.size, n), 0);
    RANK_CHECK(stats_of(context).datagrams > kCalls / 2);
    give_word(comm, rank.rank);
    if (rank.rank != 0) ready.give();
    if (rank.rank == 0) ready.await(rank.size - 1);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

/// Operates until all operations go as datagrams. Returns how many have.
std::uint64_t go_by_datagrams(const Rank& rank, sharp_coll_context* context, sharp_coll_comm* comm) {
  for (int n = 0; n < 200; ++n) RANK_EQUAL(operate(comm, rank.rank, rank.size, n), 0);
  RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
  const auto count = stats_of(context).datagrams;
  RANK_CHECK(count > 50);
  return count;
}

struct Runs {
  std::int64_t ns = 0, waited_ns = 0, times = 0;
};
Runs runs_of_recovery() {
  std::string text;
  RANK_EQUAL(threads_named("sumac-recovery", &text), 1);
  Runs found;
  std::istringstream(text) >> found.ns >> found.waited_ns >> found.times;
  return found;
}
/// It is measured for so long: a sleep that is no synchronisation.
Runs runs_in(Duration time) {
  const Runs before = runs_of_recovery();
  std::this_thread::sleep_for(time);
  const Runs after = runs_of_recovery();
  return {after.ns - before.ns, after.waited_ns - before.waited_ns, after.times - before.times};
}

/// Rank 0 has returned from a bcast that the others have not called, and computes. With a pause of 10 ms at most the thread would run
/// 200 times in 2 s.
TEST_F(HopWorld, TheThreadOfRecoveryRestsWhileAPartnerComputes) {
  const auto job = new_job_id();
  const Signal goes_on;
  const auto ended = run_well(*daemons_, 3, kOn, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto before = go_by_datagrams(rank, context, comm);
    if (rank.rank != 0) goes_on.await();
    give_word(comm, rank.rank);
    if (rank.rank == 0) {
      const Runs open = runs_in(Seconds(2));
      std::fprintf(stderr, "a bcast was open for 2 s: the thread ran %ld times, %.0f us\n",
                   static_cast<long>(open.times), static_cast<double>(open.ns) / 1e3);
      RANK_CHECK(open.times >= 1 && open.times <= 25);
      RANK_CHECK(open.ns < 20'000'000);
      for (int other = 1; other < rank.size; ++other) goes_on.give();
    }
    RANK_EQUAL(stats_of(context).datagrams, before + 1);
    RANK_EQUAL(sharp_coll_do_barrier(comm), 0);  // Now the bcast is closed.
    if (rank.rank == 0) {
      (void)runs_in(Millis(1500));  // Its timer may ring once more.
      RANK_EQUAL(runs_in(Seconds(1)).times, 0);
    }
    rank.barrier();
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  std::fputs(ended[0].err.c_str(), stdout);
}

/// Rank 0 has posted a sum whose datagram is lost, and computes until the others have the sum: only the thread can send it again.
TEST_F(HopWorld, ALostDatagramOfAPostedOperationGoesAgain) {
  const auto job = new_job_id();
  const Signal posted, over;
  run_well(*daemons_, 3, kOn, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    const auto before = go_by_datagrams(rank, context, comm);
    std::int32_t mine = rank.rank, sum = 0;
    auto spec = reduce_spec(&mine, &sum, 1, Dtype::int32, Op::sum);
    void* handle = nullptr;
    if (rank.rank == 0) {
      while (runs_in(Millis(100)).times != 0) {  // Its timer rings once more for the operations before.
      }
      RANK_CHECK(set_loopback(false).empty());
      RANK_EQUAL(sharp_coll_do_allreduce_nb(comm, &spec, &handle), 0);
      RANK_CHECK(set_loopback(true).empty());
      for (int other = 1; other < rank.size; ++other) posted.give();
      over.await(rank.size - 1);
      RANK_EQUAL(sharp_coll_req_wait(handle), 0);
    } else {
      posted.await();
      RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      over.give();
    }
    RANK_EQUAL(sum, 3);
    RANK_EQUAL(stats_of(context).datagrams, before + 1);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(HopWorld, WithoutSuchAThreadRootedKindsGoByTheLinks) {
  const auto job = new_job_id();
  constexpr int kCalls = 200;
  run_well(*daemons_, 4, {{"SUMAC_RECOVERY", "0"}}, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (int n = 0; n < kCalls; ++n) RANK_EQUAL(operate(comm, rank.rank, rank.size, n), 0);
    RANK_CHECK(stats_of(context).datagrams > 0 && stats_of(context).datagrams <= kCalls / 2);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(HopWorld, ARankThatAsksForNoneKeepsAllOnTheLinks) {
  const auto job = new_job_id();
  run_well(*daemons_, 4, {}, [&](Rank& rank) {
    ::setenv("SUMAC_COLL_HOP", rank.rank == 1 ? "0" : "1", 1);
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    operations(rank, comm, 200);
    RANK_EQUAL(stats_of(context).datagrams, 0u);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

TEST_F(HopWorld, ARankThatDiesEndsTheOthersOperations) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 4);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    operations(rank, comm, 200);
    RANK_CHECK(stats_of(context).datagrams > 50);
    if (rank.rank == 2) ::kill(::getpid(), SIGKILL);
    RANK_CHECK(sharp_coll_do_barrier(comm) != 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  for (const int rank : {0, 1, 3}) {
    EXPECT_EQ(ended[static_cast<std::size_t>(rank)].status, 0) << ended[static_cast<std::size_t>(rank)].err;
  }
}

TEST_F(HopWorld, AJobThatRecoversGoesOnWhenANodeIsKilled) {
  const auto job = new_job_id();
  const Signal ready;
  auto config = on(*daemons_, 6);
  config.environment = kOn;
  config.meanwhile = [&] {
    ready.await(config.size);
    daemons_->signal("an-leaf1", SIGKILL);
  };
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    for (int n = 0; n < 3000; ++n) {
      if (n == 400) {
        RANK_CHECK(stats_of(context).datagrams > 100);
        ready.give();
      }
      RANK_EQUAL(operate(comm, rank.rank, rank.size, n), 0);
    }
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons_->log();
}

TEST_F(HopWorld, RanksThatDifferLearnOfIt) {
  const auto job = new_job_id();
  auto config = on(*daemons_, 4);
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    operations(rank, comm, 200);
    std::int32_t mine[2] = {1, 2}, sum[2];
    auto spec = reduce_spec(mine, sum, rank.rank == 3 ? 2 : 1, Dtype::int32, Op::sum);
    RANK_CHECK(sharp_coll_do_allreduce(comm, &spec) != 0);
    sharp_coll_comm_destroy(comm);
    sharp_coll_finalize(context);
  });
  for (const auto& rank : ended) EXPECT_EQ(rank.status, 0) << rank.err;
  EXPECT_THAT(ended[0].err, ContainsRegex("differs from rank [0-9].* in count: [12], not [12]"));
}

}  // namespace
}  // namespace sumac::client::test
