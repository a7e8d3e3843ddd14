// Ranks as processes, on one host and on several: a process with a host name of its own, in its own UTS namespace, shares no
// memory with those of another name, and meets them over loopback.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "bindings/ucc/test_collective.hpp"
#include "bindings/ucc/test_oob.hpp"

namespace sumac::ucc::test {
namespace {

/// Runs `body` as ranks whose hosts are letters. They have a context and a team of all. The rank `killed` kills itself.
void run(const std::string& hosts, const std::function<void(Rank&)>& body, int killed = -1) {
  auto* const shared = static_cast<SharedOob*>(
      ::mmap(nullptr, sizeof(SharedOob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const int size = static_cast<int>(hosts.size());
  std::vector<pid_t> children;
  for (int one = 0; one < size; ++one) {
    const pid_t child = ::fork();
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    const std::string name = std::string("host-") + hosts[static_cast<std::size_t>(one)];
    if (hosts.find_first_not_of(hosts[0]) != std::string::npos &&
        (::unshare(CLONE_NEWUTS) != 0 || ::sethostname(name.c_str(), name.size()) != 0))
      ::_exit(77);
    Rank rank{.rank = one, .size = size};
    rank.library = make_library();
    OobMember member{shared, one, size};
    ucc_context_params_t params{};
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = member.params();
    EXPECT_EQ(ucc_context_create(rank.library, &params, nullptr, &rank.context), UCC_OK);
    if (rank.context == nullptr || rank.make_team(blank_team_params(), rank.team) != UCC_OK) ::_exit(2);
    body(rank);
    rank.end_team(rank.team);
    EXPECT_EQ(ucc_context_destroy(rank.context), UCC_OK);
    EXPECT_EQ(ucc_finalize(rank.library), UCC_OK);
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  bool is_skipped = false;
  for (int one = 0; one < size; ++one) {
    int status = -1;
    EXPECT_EQ(::waitpid(children[static_cast<std::size_t>(one)], &status, 0), children[static_cast<std::size_t>(one)]);
    is_skipped = is_skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 77);
    if (!is_skipped) {
      EXPECT_EQ(status, one == killed ? SIGKILL : 0) << "rank " << one << " has failed";
    }
  }
  ::munmap(shared, sizeof(SharedOob));
  if (is_skipped) GTEST_SKIP() << "a UTS namespace needs root";
}

void all_collectives(Rank& rank) {
  for (const std::size_t count : {0, 3, 5000})
    for (int bit = 0; bit < 16; ++bit)
      for (int form = 0; form < 4; ++form) {
        SCOPED_TRACE(testing::Message() << "collective " << bit << " count " << count << " form " << form);
        Case(rank, static_cast<ucc_coll_type_t>(UCC_BIT(bit)), count, (form + bit) % rank.size,
             Form{(form & 1) != 0, form > 1, form == 2, form == 3})
            .run();
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Processes, OfOneHost) { run("aaa", all_collectives); }
TEST(Processes, ARankAHost) { run("abc", all_collectives); }
TEST(Processes, TwoRanksAndOne) { run("aab", all_collectives); }

TEST(Processes, TeamsOfSomeHostsAndMessagesBetweenThem) {
  run("aba", [](Rank& rank) {
    for (int turn = 0; turn < 2; ++turn) {
      // Ranks 2 and 1, on two hosts.
      if (rank.rank > 0) {
        auto params = blank_team_params();
        params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP;
        params.ep_map.type = UCC_EP_MAP_STRIDED;
        params.ep_map.ep_num = 2;
        params.ep_map.strided = {2, -1};
        ucc_team_h team = nullptr;
        ASSERT_EQ(rank.make_team(params, team), UCC_OK);
        int own = rank.rank, all[2] = {};
        auto args = blank(UCC_COLL_TYPE_ALLGATHER);
        args.src.info = {&own, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        args.dst.info = {all, 2, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        EXPECT_EQ(rank.run(args, team), UCC_OK);
        EXPECT_EQ(all[0], 2);
        EXPECT_EQ(all[1], 1);
        rank.end_team(team);
      }
      for (const std::size_t count : {1, 300000}) {
        std::vector<int> data(count, rank.rank == 1 ? 5 + turn : 0);
        auto args = blank(UCC_COLL_TYPE_BCAST);
        args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET | UCC_COLL_ARGS_FIELD_TAG;
        args.src.info = {data.data(), count, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
        args.root = 1;
        args.tag = 9;
        args.active_set = {0, 1, 3};
        EXPECT_EQ(rank.run(args), UCC_OK);
        EXPECT_EQ(data, std::vector<int>(count, 5 + turn));
      }
    }
  });
}

/// Open MPI 4.1's coll/ucc calls ucc_team_destroy() once, whatever it answers.
TEST(Processes, TeamsWhoseDestroyIsCalledOnce) {
  run("aab", [](Rank& rank) {
    for (int turn = 0; turn < 20; ++turn) {
      ucc_team_h team = nullptr;
      ASSERT_EQ(rank.make_team(blank_team_params(), team), UCC_OK);
      EXPECT_GE(ucc_team_destroy(team), UCC_OK);
    }
  });
}

/// Whoever waits for a rank that was killed has an error, and can end what it has.
void one_dies(Rank& rank) {
  int value = 1;
  auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
  args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  args.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
  args.op = UCC_OP_MAX;
  args.dst.info = {&value, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
  for (int turn = 1; rank.run(args) == UCC_OK; ++turn)
    if (rank.rank == 1 && turn == 3) ::raise(SIGKILL);
  EXPECT_LT(rank.run(args), UCC_OK) << "the team is broken";
}

TEST(Processes, ARankOfTheHostIsKilled) { run("aaa", one_dies, 1); }
TEST(Processes, ARankOfAnotherHostIsKilled) { run("abc", one_dies, 1); }
TEST(Processes, ARankOfTwoIsKilled) { run("aabb", one_dies, 1); }

/// With SUMAC_TIMEOUT an allgather of the program that never ends has an end, of a context and of a team.
TEST(Processes, AnOobThatHangs) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("SUMAC_TIMEOUT", "100ms", 1);
    const auto library = make_library();
    ucc_context_params_t params{};
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = {[](void*, void*, std::size_t, void*, void**) { return UCC_OK; },
                  [](void*) { return UCC_INPROGRESS; },
                  [](void*) { return UCC_OK; },
                  nullptr,
                  2,
                  0};
    ucc_context_h context = nullptr;
    EXPECT_EQ(ucc_context_create(library, &params, nullptr, &context), UCC_ERR_TIMED_OUT);
    context = make_context(library, nullptr);
    auto team_params = blank_team_params();
    team_params.mask = UCC_TEAM_PARAM_FIELD_OOB;
    team_params.oob = params.oob;
    ucc_team_h team = nullptr;
    EXPECT_EQ(ucc_team_create_post(&context, 1, &team_params, &team), UCC_OK);
    ucc_status_t status = UCC_INPROGRESS;
    while ((status = ucc_team_create_test(team)) == UCC_INPROGRESS) {
    }
    EXPECT_EQ(status, UCC_ERR_TIMED_OUT);
    EXPECT_EQ(ucc_team_destroy(team), UCC_OK);
    EXPECT_EQ(ucc_context_destroy(context), UCC_OK);
    EXPECT_EQ(ucc_finalize(library), UCC_OK);
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// The job's daemons are started for it, a node of the tree on the first host.
TEST(Processes, ByATreeOfTheirOwn) {
  ::setenv("HCOLL_ENABLE_SHARP", "3", 1);
  ::setenv("HCOLL_SHARP_NP", "2", 1);
  ::setenv("SUMAC_HOME", SUMAC_BINARY_DIR, 0);
  if (::access((std::string(::getenv("SUMAC_HOME")) + "/bin/sumac").c_str(), X_OK) != 0)
    GTEST_SKIP() << "the daemons are not built";
  run("aabc", all_collectives);
}

}  // namespace
}  // namespace sumac::ucc::test
