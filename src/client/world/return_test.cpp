// The way back to a tree through real daemons: after each kill, and where no node has died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <functional>
#include <thread>
#include <utility>

#include "client/world/test_recovery.hpp"

namespace sumac::client::test {
namespace {

/// Ends this process's connections over TCP. As long as its groups have their tree it has that to its leaf alone.
void break_connections() {
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_in peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && peer.sin_family == AF_INET)
      ::shutdown(fd, SHUT_RDWR);
  }
}

/// Something that happens when the ranks are on a tree: to the daemons, or (null) to the connection of rank 2.
using Strike = std::function<void(Daemons&)>;

Strike kill(const std::string& node) {
  return [node](Daemons& daemons) { daemons.signal(node, SIGKILL); };
}

/// After each the ranks are on a tree again. Returns what rank 0 has written, with its debug lines.
std::string come_back_after(const std::vector<Strike>& strikes) {
  Shape shape = kTwoLeaves;
  shape.environment = {{"SUMAC_AM_NODE_AWAY", "300ms"}};
  Daemons daemons(shape);
  const auto job = new_job_id();
  const Signal ready, over;
  std::thread striker([&] {
    for (const Strike& strike : strikes) {
      ready.await();
      if (strike) strike(daemons);
    }
    over.await();  // A daemon that this thread has started ends with it.
  });
  auto config = on(daemons, 4);
  config.environment = kOn;
  config.environment.insert(config.environment.end(), {"SHARP_COLL_LOG_LEVEL", "4"});
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    int i = 0;
    for (const Strike& strike : strikes) {
      const auto before = group_of(comm);
      if (rank.rank == 0) ready.give();
      if (rank.rank == 2 && !strike) break_connections();
      for (std::int32_t waits = 1, any = 1; any != 0; ++i) {
        RANK_EQUAL(operate(comm, rank.rank, rank.size, i), 0);
        if (i % 100 != 0) continue;
        waits = group_of(comm) == before ? 1 : 0;
        auto spec = reduce_spec(&waits, &any, 1, Dtype::int32, Op::max);
        RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
      }
    }
    for (int more = 0; more < 200; ++more, ++i) RANK_EQUAL(operate(comm, rank.rank, rank.size, i), 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  over.give();
  striker.join();
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  return ended[0].err;
}

TEST(Return, AJobIsOnATreeAgainAfterEachKill) {
  come_back_after({kill("an-leaf1"), kill("an-leaf2")});
  come_back_after({kill("an-root"), kill("an-leaf1")});
}

/// A group of this rank alone, by which it sees that the job has other trees.
struct Alone {
  Rank rank{0, 1, {}};
  sharp_coll_comm* comm;
  std::uint32_t before;

  explicit Alone(sharp_coll_context* context) : comm(rank.comm(context)), before(group_of(comm)) {}
  void await_other_trees() const {
    while (group_of(comm) == before) RANK_EQUAL(sharp_coll_do_barrier(comm), 0);
  }
};

void make_and_use(sharp_coll_context* context, Rank& rank) {
  auto* comm = rank.comm(context);
  for (int i = 0; i < 100; ++i) RANK_EQUAL(operate(comm, rank.rank, rank.size, i), 0);
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
}

/// A leaf is killed. The sharpd of rank `late` stands still until all other ranks have the job's other trees and begin to make a
/// communicator, or (`hears` is false) until they have not got it. Returns what rank 0 has written.
std::string make_while_one_has_yet_to_hear(int late, bool hears) {
  Daemons daemons(two_leaves({{"SUMAC_AM_NODE_AWAY", "300ms"}}));
  const auto job = new_job_id();
  const auto its_sharpd = "sharpd-h" + std::to_string(late + 1);
  const Signal ready, goes_on;
  std::thread striker([&] {
    ready.await(4);
    daemons.signal(its_sharpd, SIGSTOP);
    daemons.signal("an-leaf1", SIGKILL);
    goes_on.await(3);
    daemons.signal(its_sharpd, SIGCONT);
  });
  auto config = on(daemons, 4);
  config.environment = kOn;
  config.environment.insert(config.environment.end(), {"SHARP_COLL_JOB_CREATE_TIMEOUT", hears ? "3600s" : "5s"});
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto* context = rank.init(job);
    const Alone alone(context);
    ready.give();
    if (rank.rank != late) alone.await_other_trees();
    if (hears && rank.rank != late) goes_on.give();
    sharp_coll_comm* comm = nullptr;
    if (!hears) RANK_EQUAL(rank.try_comm(context, comm), SHARP_COLL_ECONN_TREE);
    if (!hears && rank.rank != late) goes_on.give();
    make_and_use(context, rank);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  striker.join();
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  return ended[0].err;
}

TEST(Return, ACommunicatorIsMadeAlthoughItsRankZeroHearsLateOfOtherTrees) { make_while_one_has_yet_to_hear(0, true); }
TEST(Return, ACommunicatorIsMadeAlthoughAMemberHearsLateOfOtherTrees) { make_while_one_has_yet_to_hear(2, true); }
TEST(Return, AMemberThatHearsNothingOfOtherTreesIsNotWaitedForWithoutEnd) {
  EXPECT_THAT(make_while_one_has_yet_to_hear(2, false),
              testing::ContainsRegex("rank 2 .*: sharpd of this host has told nothing of the job's other trees"));
}

/// Each rank does `before_word` before it hears, or says, which group it is to join: then it has told rank 0 that it is well. Returns
/// what rank 0 has written. Nobody may wait for the other members.
std::string make_in_vain(const Daemons& daemons, int status,
                         const std::function<void(Rank&, const Alone&)>& before_word) {
  static std::function<void()> once;
  const auto job = new_job_id();
  auto config = on(daemons, 4);
  config.environment = kOn;
  config.environment.insert(config.environment.end(), {"SHARP_COLL_JOB_CREATE_TIMEOUT", "3600s"});
  const auto ended = run_ranks(config, [&](Rank& rank) {
    auto spec = rank.init_spec(job);
    spec.oob_colls.bcast = [](void* self, void* buffer, int length, int root) {
      if (const auto now = std::exchange(once, nullptr); now) now();
      return oob_bcast(self, buffer, length, root);
    };
    sharp_coll_context* context = nullptr;
    RANK_EQUAL(sharp_coll_init(&spec, &context), 0);
    const Alone alone(context);
    once = [&] { before_word(rank, alone); };
    sharp_coll_comm* comm = nullptr;
    RANK_EQUAL(rank.try_comm(context, comm), status);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
  EXPECT_EQ(complaint(ended), "") << daemons.log();
  return ended[0].err;
}

TEST(Return, NobodyWaitsForAGroupOfATreeThatTheJobHasLost) {
  const Daemons daemons(two_leaves({{"SUMAC_AM_NODE_AWAY", "300ms"}}));
  const pid_t leaf = daemons.pid("an-leaf1");
  const auto said = make_in_vain(daemons, SHARP_COLL_ECONN_TREE, [&](Rank& rank, const Alone& alone) {
    if (rank.rank != 0) return;
    RANK_EQUAL(::kill(leaf, SIGKILL), 0);
    alone.await_other_trees();
  });
  EXPECT_NE(said.find("the job has got other trees while"), std::string::npos) << said;
}

TEST(Return, NobodyWaitsForAMemberWhoseConnectionEndsBeforeItJoins) {
  const Daemons daemons(kTwoLeaves);
  const auto said = make_in_vain(daemons, SHARP_COLL_EGROUP_JOIN, [&](Rank& rank, const Alone& alone) {
    if (rank.rank != 2) return;
    break_connections();
    RANK_EQUAL(sharp_coll_do_barrier(alone.comm), 0);  // The group has noticed.
  });
  EXPECT_THAT(said, testing::ContainsRegex("rank 2 .*: the connection to the leaf node is closed"));
}

TEST(Return, NothingIsKeptOfTreesThatWereLostLongAgo) {
  const auto again = [](const std::string& started, const std::string& killed) {
    return [=](Daemons& daemons) {
      daemons.start_again(started);
      daemons.signal(killed, SIGKILL);
    };
  };
  const auto said = come_back_after({kill("an-leaf1"), again("an-leaf1", "an-leaf2"), again("an-leaf2", "an-leaf1"),
                                     again("an-leaf1", "an-leaf2"), again("an-leaf2", "an-leaf1")});
  std::size_t times = 0;
  for (std::size_t at = 0; (at = said.find(" former ones are kept", at)) != std::string::npos; ++at) {
    ++times;
    EXPECT_LE(said[at - 1], '2') << said;
  }
  EXPECT_GE(times, 5u) << said;
}

/// The manager knows of nothing until a rank asks it for other trees.
TEST(Return, AJobIsOnATreeAgainWhenAConnectionToALeafEndsAndNoNodeHasDied) { come_back_after({nullptr}); }

TEST(Return, ARankWhoseSharpdWasStartedAgainHearsOfTheNextTrees) {
  come_back_after({[](Daemons& daemons) {
    daemons.signal("sharpd-h2", SIGKILL);
    daemons.start_again("sharpd-h2");
    daemons.signal("an-leaf1", SIGKILL);
  }});
}

}  // namespace
}  // namespace sumac::client::test
