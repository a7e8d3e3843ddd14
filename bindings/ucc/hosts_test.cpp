// Ranks as processes, on one host and on several, which meet over loopback.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "bindings/ucc/test_collective.hpp"
#include "bindings/ucc/test_oob.hpp"
#include "client/cuda/fake_cuda.hpp"
#include "rank/test_hosts.hpp"

namespace sumac::ucc::test {
namespace {

using rank::test::await_ranks;
using rank::test::start_on_hosts;

/// Runs `body` as ranks with a context and a team of all. The rank `killed` kills itself.
void run(const std::string& hosts, const std::function<void(Rank&)>& body, int killed = -1) {
  auto* const shared = static_cast<SharedOob*>(
      ::mmap(nullptr, sizeof(SharedOob), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  const int size = static_cast<int>(hosts.size());
  const auto started = start_on_hosts(hosts, [&](int one) {
    Rank rank{.rank = one, .size = size};
    rank.library = make_library();
    OobMember member{shared, one, size};
    ucc_context_params_t params{};
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = member.params();
    ASSERT_EQ(ucc_context_create(rank.library, &params, nullptr, &rank.context), UCC_OK);
    ASSERT_EQ(rank.make_team(blank_team_params(), rank.team), UCC_OK);
    body(rank);
    rank.end_team(rank.team);
    EXPECT_EQ(ucc_context_destroy(rank.context), UCC_OK);
    EXPECT_EQ(ucc_finalize(rank.library), UCC_OK);
  });
  ::munmap(shared, sizeof(SharedOob));
  std::vector<int> ends(hosts.size());
  if (killed >= 0) ends[static_cast<std::size_t>(killed)] = SIGKILL;
  await_ranks(started, ends);
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
/// The library that stands in for the driver of CUDA: the processor can't touch its memory.
struct FakeCuda {
  Memory memory{UCC_MEMORY_TYPE_CUDA, take<decltype(&fake_cuda_malloc)>("fake_cuda_malloc"),
                take<decltype(&fake_cuda_free)>("fake_cuda_free"), take<decltype(&fake_cuda_view)>("fake_cuda_view")};
  decltype(&fake_cuda_fail) fail = take<decltype(&fake_cuda_fail)>("fake_cuda_fail");
  decltype(&fake_cuda_counts) counts = take<decltype(&fake_cuda_counts)>("fake_cuda_counts");

  FakeCuda() { Vector::memory = &memory; }
  ~FakeCuda() { Vector::memory = nullptr; }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

 private:
  template <class Function>
  static Function take(const char* name) {
    static void* const library = ::dlopen(SUMAC_BINARY_DIR "/tests/fake-cuda/libcuda.so.1", RTLD_NOW);
    EXPECT_NE(library, nullptr) << ::dlerror();
    return reinterpret_cast<Function>(::dlsym(library, name));
  }
};

TEST(Processes, OfDataInAGpusMemory) {
  for (const char* hosts : {"a", "aaa", "aab"})
    run(hosts, [](Rank& rank) {
      const FakeCuda fake;
      all_collectives(rank);
      const auto left = fake.counts();
      EXPECT_EQ(left.streams, 0);
      EXPECT_EQ(left.events, 0);
      EXPECT_GT(left.to_host, 0);
      EXPECT_GT(left.to_device, 0);
    });
}

/// The means, and a message between two ranks.
TEST(Processes, OfAMeanAndAMessageInAGpusMemory) {
  run("aa", [](Rank& rank) {
    const FakeCuda fake;
    Vector in(UCC_DT_FLOAT32, 3), out(UCC_DT_FLOAT32, 3);
    for (std::size_t i = 0; i < 3; ++i) in.set(i, static_cast<int>(i) + 2 * rank.rank);
    auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
    args.src.info = info(in, UCC_DT_FLOAT32, 3);
    args.dst.info = info(out, UCC_DT_FLOAT32, 3);
    args.op = UCC_OP_AVG;
    EXPECT_EQ(rank.run(args), UCC_OK);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(out.is(i, static_cast<int>(i) + 1)) << i;
    args = blank(UCC_COLL_TYPE_BCAST);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET | UCC_COLL_ARGS_FIELD_TAG;
    args.active_set = {.start = 0, .stride = 1, .size = 2};
    args.tag = 7;
    args.root = 1;
    args.src.info = info(in, UCC_DT_FLOAT32, 3);
    EXPECT_EQ(rank.run(args), UCC_OK);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(in.is(i, static_cast<int>(i) + 2)) << i;
  });
}

/// The other ranks learn it.
TEST(Processes, AGpuThatFailsAtOneRank) {
  for (const char* function : {"cuStreamCreate", "cuMemHostAlloc", "cuMemcpyDtoHAsync"})
    run("aa", [&](Rank& rank) {
      const FakeCuda fake;
      Vector data(UCC_DT_INT32, 1);
      if (rank.rank == 1) fake.fail(function, 0);
      auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
      args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
      args.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
      args.dst.info = info(data, UCC_DT_INT32, 1);
      args.op = UCC_OP_SUM;
      EXPECT_NE(rank.run(args), UCC_OK) << function;
      EXPECT_EQ(fake.counts().streams, 0);
    });
}

TEST(Processes, TwoRanksAndOneOverUcx) {
  if (::access(SUMAC_BINARY_DIR "/lib/libsumac_net_ucx.so", R_OK) != 0)
    GTEST_SKIP() << "built without UCX (libucx-dev)";
  ::setenv("SUMAC_TRANSPORT", "ucx", 1);
  run("aab", all_collectives);
  ::unsetenv("SUMAC_TRANSPORT");
}

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

/// Messages with a killed rank end, though the message that it had sent before arrives.
void a_peer_dies(Rank& rank) {
  const auto message = [&](std::vector<char>& data, int root) {
    auto args = blank(UCC_COLL_TYPE_BCAST);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET;
    args.src.info = {data.data(), data.size(), UCC_DT_INT8, UCC_MEMORY_TYPE_HOST};
    args.root = static_cast<std::uint64_t>(root);
    args.active_set = {0, 1, 2};
    return rank.run(args);
  };
  std::vector<char> small(100, rank.rank == 1), large(8 << 20);
  EXPECT_EQ(message(small, 1), UCC_OK);
  if (rank.rank == 1) ::raise(SIGKILL);
  EXPECT_EQ(small, std::vector<char>(100, 1));
  EXPECT_EQ(message(large, 1), UCC_ERR_NO_MESSAGE) << "it receives";
  EXPECT_EQ(message(large, 0), UCC_ERR_NO_MESSAGE) << "it sends";
}

TEST(Processes, ARankOfTheHostIsKilledUnderMessages) { run("aa", a_peer_dies, 1); }
TEST(Processes, ARankOfAnotherHostIsKilledUnderMessages) { run("ab", a_peer_dies, 1); }

/// The process ends while a thread of the program makes teams, at another place each time.
TEST(Processes, ExitUnderAThreadThatMakesTeams) {
  for (int turn = 0; turn < 60 && !testing::Test::HasFailure(); ++turn)
    run("aa", [&](Rank& rank) {
      std::atomic<int> made{0};
      std::thread([&] {
        for (;; ++made) {
          ucc_team_h team = nullptr;
          if (rank.make_team(blank_team_params(), team) == UCC_OK) (void)ucc_team_destroy(team);
        }
      }).detach();
      while (made < turn % 4) ::sched_yield();
      std::exit(0);
    });
}

/// Ranks that differ on a team without an id never meet: their time limit says why.
TEST(Processes, MapsThatDifferWithoutATeamId) {
  ::setenv("SUMAC_TIMEOUT", "2s", 1);
  run("aa", [](Rank& rank) {
    auto params = blank_team_params();
    params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP;
    params.ep_map.type = UCC_EP_MAP_STRIDED;
    params.ep_map.ep_num = 2;
    if (rank.rank == 0)
      params.ep_map.strided = {0, 1};
    else
      params.ep_map.strided = {1, -1};
    ucc_team_h team = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(rank.make_team(params, team), UCC_ERR_TIMED_OUT);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("no team id must give the same ep_map"), std::string::npos);
    EXPECT_EQ(ucc_team_destroy(team), UCC_OK);
  });
  ::unsetenv("SUMAC_TIMEOUT");
}

/// With SUMAC_TIMEOUT an allgather of the program that never ends has an end, of a context and of a team.
TEST(Processes, AnOobThatHangs) {
  await_ranks(start_on_hosts("a", [](int) {
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
    EXPECT_EQ(Rank{.context = context}.make_team(team_params, team), UCC_ERR_TIMED_OUT);
    EXPECT_EQ(ucc_team_destroy(team), UCC_OK);
    EXPECT_EQ(ucc_context_destroy(context), UCC_OK);
    EXPECT_EQ(ucc_finalize(library), UCC_OK);
  }));
}

/// The job's daemons are started for it, a node of the tree on the first host.
TEST(Processes, ByATreeOfTheirOwn) {
  if (!rank::test::ask_for_a_tree(SUMAC_BINARY_DIR)) GTEST_SKIP() << "the daemons are not built";
  run("aabc", all_collectives);
}

}  // namespace
}  // namespace sumac::ucc::test
