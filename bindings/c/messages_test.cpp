// Messages between two ranks, and the mistakes and failures of all operations.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "bindings/c/test_team.hpp"

namespace sumac::c::test {
namespace {

/// Each sends to the next one and receives from the one before, small messages and large ones, which wait for their receive.
void ring(sumac_open_team_t* team) {
  const int rank = sumac_team_rank(team), size = sumac_team_size(team);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{500'000}}) {
    const std::vector<int> out(count, rank);
    std::vector<int> in(count, -1);
    sumac_team_request_t *sent = nullptr, *received = nullptr;
    int from = -1, sum = 0;
    ASSERT_EQ(sumac_team_send(team, out.data(), count * sizeof(int), next, 5, &sent), SUMAC_OK);
    ASSERT_EQ(sumac_team_recv(team, in.data(), count * sizeof(int), before, 5, &from, &received), SUMAC_OK);
    // A collective goes on beside them.
    EXPECT_EQ(sumac_team_allreduce(team, &rank, &sum, 1, SUMAC_INT32, SUMAC_SUM, nullptr), SUMAC_OK);
    EXPECT_EQ(sum, size * (size - 1) / 2);
    EXPECT_EQ(sumac_team_wait(received), SUMAC_OK);
    EXPECT_EQ(sumac_team_wait(sent), SUMAC_OK);
    EXPECT_EQ(from, before);
    EXPECT_EQ(in, std::vector<int>(count, before));
  }
}

TEST(Messages, OfOneHost) { run("aaa", ring); }
TEST(Messages, OfTwoRanksAndOne) { run("aab", ring); }

TEST(Messages, FromAnyRankByTheirTag) {
  run("aba", [](sumac_open_team_t* team) {
    const int rank = sumac_team_rank(team);
    if (rank > 0) {
      const int other_tag = 10 * rank;
      EXPECT_EQ(sumac_team_send(team, &other_tag, sizeof other_tag, 0, 8, nullptr), SUMAC_OK);
      EXPECT_EQ(sumac_team_send(team, &rank, sizeof rank, 0, 7, nullptr), SUMAC_OK);
      EXPECT_EQ(sumac_team_barrier(team, nullptr), SUMAC_OK);
      return;
    }
    std::set<int> senders;
    for (int i = 0; i < 2; ++i) {
      int value = -1, from = -1;
      EXPECT_EQ(sumac_team_recv(team, &value, sizeof value, SUMAC_ANY_RANK, 7, &from, nullptr), SUMAC_OK);
      EXPECT_EQ(value, from);
      senders.insert(from);
      EXPECT_EQ(sumac_team_recv(team, &value, sizeof value, from, 8, nullptr, nullptr), SUMAC_OK);
      EXPECT_EQ(value, 10 * from);
    }
    EXPECT_EQ(senders, (std::set<int>{1, 2}));
    EXPECT_EQ(sumac_team_barrier(team, nullptr), SUMAC_OK);
  });
}

TEST(Mistakes, AMessageOfAnotherSizeLeavesTheTeam) {
  run("ab", [](sumac_open_team_t* team) {
    const int rank = sumac_team_rank(team);
    int values[2] = {4, 5};
    if (rank == 0) {
      EXPECT_EQ(sumac_team_send(team, values, sizeof values, 1, 0, nullptr), SUMAC_OK);
    } else {
      EXPECT_EQ(sumac_team_recv(team, values, sizeof values[0], 0, 0, nullptr, nullptr), SUMAC_ERR_INVALID);
      EXPECT_NE(std::string(sumac_team_why(team)).find("8 B"), std::string::npos) << sumac_team_why(team);
    }
    ring(team);
  });
}

TEST(Mistakes, OfArgumentsAreRefusedAndLeaveTheTeam) {
  run("aa", [](sumac_open_team_t* team) {
    const int rank = sumac_team_rank(team);
    int value = 1, out = 0;
    constexpr auto kNone = static_cast<sumac_type>(99);
    EXPECT_EQ(sumac_team_allreduce(team, &value, &out, 1, kNone, SUMAC_SUM, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_allreduce(team, &value, &out, 1, SUMAC_FLOAT32, SUMAC_BXOR, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_allreduce(team, &value, &out, SIZE_MAX / 4, SUMAC_INT32, SUMAC_SUM, nullptr),
              SUMAC_ERR_INVALID);
    for (const int root : {-1, 2}) EXPECT_EQ(sumac_team_bcast(team, &value, 4, root, nullptr), SUMAC_ERR_INVALID);
    for (const int other : {-2, 2, rank})
      EXPECT_EQ(sumac_team_recv(team, &value, 4, other, 0, nullptr, nullptr), SUMAC_ERR_INVALID);
    for (const int other : {SUMAC_ANY_RANK, 2, rank})
      EXPECT_EQ(sumac_team_send(team, &value, 4, other, 0, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_send(team, &value, 4, 1 - rank, -1, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_allgatherv(team, &value, &out, nullptr, nullptr, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_alltoallv(team, &value, nullptr, nullptr, &out, nullptr, nullptr, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_barrier(nullptr, nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_test(nullptr), SUMAC_ERR_INVALID);
    EXPECT_EQ(sumac_team_wait(nullptr), SUMAC_ERR_INVALID);
    ring(team);
  });
}

/// In a process of its own, since the first team of a process reads the variables.
TEST(Mistakes, OfTheParamsMakeNoTeam) {
  run_bare("a", [](const sumac_team_params&) {
    OobMember member{nullptr, 0, 2};
    sumac_open_team_t* team = nullptr;
    const auto refused = [&](const char* words, auto change) {
      auto params = params_of(member);
      change(params);
      EXPECT_EQ(sumac_team_open(&params, &team), SUMAC_ERR_INVALID);
      EXPECT_NE(std::string(sumac_team_why(nullptr)).find(words), std::string::npos) << sumac_team_why(nullptr);
    };
    refused("struct_bytes", [](auto& params) { params.struct_bytes = 8; });
    refused("rank 2 of 2", [](auto& params) { params.rank = 2; });
    refused("rank -1 of 2", [](auto& params) { params.rank = -1; });
    refused("of 0 ranks", [](auto& params) { params.size = 0; });
    refused("timeout_ms -1", [](auto& params) { params.timeout_ms = -1; });
    refused("no allgather", [](auto& params) { params.allgather = nullptr; });
    EXPECT_EQ(sumac_team_open(nullptr, &team), SUMAC_ERR_INVALID);
    auto params = params_of(member);
    params.allgather = [](void*, const void*, void*, std::size_t) { return 7; };
    EXPECT_EQ(sumac_team_open(&params, &team), SUMAC_ERR_BROKEN);
    EXPECT_NE(std::string(sumac_team_why(nullptr)).find("returned 7"), std::string::npos);
    EXPECT_EQ(team, nullptr);
    sumac_team_close(nullptr);
  });
}

TEST(Mistakes, SwitchedOffThereIsNoTeam) {
  run_bare("aa", [](const sumac_team_params& params) {
    ::setenv("SUMAC_ENABLE", "0", 1);
    sumac_open_team_t* team = nullptr;
    EXPECT_EQ(sumac_team_open(&params, &team), SUMAC_ERR_UNSUPPORTED);
  });
}

TEST(Mistakes, AForkedProcessHasNoTeam) {
  run("aa", [](sumac_open_team_t* team) {
    const pid_t child = ::fork();
    if (child == 0) {
      int value = 0;
      const bool is_refused =
          sumac_team_barrier(team, nullptr) == SUMAC_ERR_INVALID &&
          sumac_team_recv(team, &value, 4, SUMAC_ANY_RANK, 0, nullptr, nullptr) == SUMAC_ERR_INVALID;
      sumac_team_close(team);
      ::_exit(is_refused ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ring(team);
  });
}

/// Requests that are left end with their team.
TEST(Life, ATeamEndsUnderItsRequests) {
  run("aab", [](sumac_open_team_t* team) {
    static int value = 0;
    sumac_team_request_t* request = nullptr;
    EXPECT_EQ(sumac_team_barrier(team, nullptr), SUMAC_OK);
    EXPECT_EQ(sumac_team_recv(team, &value, sizeof value, SUMAC_ANY_RANK, 3, nullptr, &request), SUMAC_OK);
    if (sumac_team_rank(team) != 0) {
      EXPECT_EQ(sumac_team_barrier(team, &request), SUMAC_OK);
    }
  });
}

TEST(Life, TeamsOneAfterTheOtherAndBesideEachOther) {
  run_bare("aab", [](const sumac_team_params& params) {
    sumac_open_team_t* first = nullptr;
    ASSERT_EQ(sumac_team_open(&params, &first), SUMAC_OK);
    for (int life = 0; life < 5; ++life) {
      sumac_open_team_t* other = nullptr;
      ASSERT_EQ(sumac_team_open(&params, &other), SUMAC_OK);
      EXPECT_EQ(sumac_team_rank(other), params.rank);
      ring(other);
      ring(first);
      sumac_team_close(other);
    }
    sumac_team_close(first);
  });
}

/// Whoever waits for a rank that was killed has an error.
void one_dies(sumac_open_team_t* team, bool by_messages) {
  const int rank = sumac_team_rank(team);
  // The others may still be in it when the rank dies.
  int value = 0, status = sumac_team_barrier(team, nullptr);
  if (rank == 1) ::raise(SIGKILL);
  if (status == SUMAC_OK)
    status = by_messages ? sumac_team_recv(team, &value, sizeof value, 1, 0, nullptr, nullptr)
                         : sumac_team_barrier(team, nullptr);
  EXPECT_EQ(status, SUMAC_ERR_BROKEN) << sumac_team_why(team);
  EXPECT_NE(std::string(sumac_team_why(team)).find("rank 1"), std::string::npos) << sumac_team_why(team);
  EXPECT_EQ(sumac_team_barrier(team, nullptr), SUMAC_ERR_BROKEN);
}

TEST(Failures, ARankOfTheHostIsKilledUnderACollective) {
  run("aaa", [](sumac_open_team_t* team) { one_dies(team, false); }, {0, SIGKILL, 0});
}
TEST(Failures, ARankOfTheHostIsKilledUnderAMessage) {
  run("aaa", [](sumac_open_team_t* team) { one_dies(team, true); }, {0, SIGKILL, 0});
}
TEST(Failures, ARankOfAnotherHostIsKilledUnderACollective) {
  run("abc", [](sumac_open_team_t* team) { one_dies(team, false); }, {0, SIGKILL, 0});
}
TEST(Failures, ARankOfAnotherHostIsKilledUnderAMessage) {
  run("abc", [](sumac_open_team_t* team) { one_dies(team, true); }, {0, SIGKILL, 0});
}

/// Rank 1 calls nothing until the others have given up.
void one_does_not_come(sumac_open_team_t* team, int form, int* pipe) {
  char byte = 0;
  if (sumac_team_rank(team) == 1) {
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
    return;
  }
  int value = 0;
  sumac_team_request_t* request = nullptr;
  int status = form == 0   ? sumac_team_barrier(team, nullptr)
               : form == 1 ? sumac_team_barrier(team, &request)
                           : sumac_team_recv(team, &value, sizeof value, 1, 0, nullptr, nullptr);
  if (request != nullptr) status = SUMAC_IN_PROGRESS;
  while (status == SUMAC_IN_PROGRESS) status = sumac_team_test(request);
  EXPECT_EQ(status, SUMAC_ERR_TIMEOUT) << sumac_team_why(team);
  EXPECT_NE(std::string(sumac_team_why(team)).find("timed out"), std::string::npos) << sumac_team_why(team);
  EXPECT_EQ(::write(pipe[1], &byte, 1), 1);
}

TEST(Failures, ARankThatDoesNotComeIsNotWaitedForForEver) {
  for (const char* hosts : {"aa", "ab"})
    for (int form = 0; form < 3; ++form) {
      SCOPED_TRACE(testing::Message() << hosts << " form " << form);
      int pipe[2];
      ASSERT_EQ(::pipe(pipe), 0);
      run(
          hosts, [&](sumac_open_team_t* team) { one_does_not_come(team, form, pipe); }, {}, 50);
      ::close(pipe[0]);
      ::close(pipe[1]);
    }
}

}  // namespace
}  // namespace sumac::c::test
