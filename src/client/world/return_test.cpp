// The way back to a tree through real daemons: after each kill, and where no node has died.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

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
