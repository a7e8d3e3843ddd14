// Mistakes of a program, and failures under it, end in a status: no hang, no crash.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "bindings/ucc/test_ranks.hpp"

namespace sumac::ucc::test {
namespace {

ucc_coll_args_t one_int(int& value) {
  auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
  args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
  args.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
  args.dst.info = {&value, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
  args.op = UCC_OP_SUM;
  return args;
}

TEST(Misuse, OfLibrariesAndConfigurations) {
  ucc_lib_params_t params{};
  ucc_lib_h library = nullptr;
  EXPECT_EQ(ucc_init_version(2, 0, &params, nullptr, &library), UCC_ERR_NOT_SUPPORTED);
  EXPECT_EQ(ucc_init_version(1, 8, nullptr, nullptr, &library), UCC_ERR_INVALID_PARAM);
  // A mask that names no field, and one that names fields that there are not.
  EXPECT_EQ(ucc_init(&params, nullptr, &library), UCC_OK);
  EXPECT_EQ(ucc_finalize(library), UCC_OK);
  params.mask = ~0ul << 8;
  EXPECT_EQ(ucc_init(&params, nullptr, &library), UCC_OK);
  ucc_lib_attr_t attr{};
  attr.mask = UCC_LIB_ATTR_FIELD_COLL_TYPES | UCC_LIB_ATTR_FIELD_THREAD_MODE;
  EXPECT_EQ(ucc_lib_get_attr(library, &attr), UCC_OK);
  EXPECT_EQ(attr.coll_types, UCC_MASK(16));
  EXPECT_EQ(attr.thread_mode, UCC_THREAD_SINGLE);
  ucc_lib_config_h config = nullptr;
  EXPECT_EQ(ucc_lib_config_read("OMPI", "file", &config), UCC_ERR_NOT_IMPLEMENTED);
  ASSERT_EQ(ucc_lib_config_read("OMPI", nullptr, &config), UCC_OK);
  EXPECT_EQ(ucc_lib_config_modify(config, "CLS", "basic,hier"), UCC_OK);
  EXPECT_EQ(ucc_lib_config_modify(config, "NO_SUCH_NAME", "1"), UCC_ERR_NOT_FOUND);
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&text, &bytes);
  ucc_lib_config_print(config, stream, "title",
                       static_cast<ucc_config_print_flags_t>(UCC_CONFIG_PRINT_CONFIG | UCC_CONFIG_PRINT_HEADER));
  std::fclose(stream);
  EXPECT_NE(std::string(text, bytes).find("OMPI_UCC_CLS=basic,hier\n"), std::string::npos) << text;
  ::free(text);
  ucc_lib_config_release(config);
  ucc_context_config_h of_context = nullptr;
  ASSERT_EQ(ucc_context_config_read(library, nullptr, &of_context), UCC_OK);
  for (const char* name : {"ESTIMATED_NUM_EPS", "ESTIMATED_NUM_PPN", "NODE_LOCAL_ID"})
    EXPECT_EQ(ucc_context_config_modify(of_context, nullptr, name, "4"), UCC_OK) << name;
  EXPECT_EQ(ucc_context_config_modify(of_context, nullptr, "NO_SUCH_NAME", "4"), UCC_ERR_NOT_FOUND);
  EXPECT_EQ(ucc_context_config_modify(of_context, "tl/ucp", "TUNE", "inf"), UCC_OK);
  ucc_context_config_release(of_context);
  EXPECT_EQ(ucc_finalize(library), UCC_OK);
  EXPECT_EQ(ucc_finalize(library), UCC_ERR_INVALID_PARAM);
  EXPECT_EQ(ucc_lib_get_attr(library, &attr), UCC_ERR_INVALID_PARAM);
}

TEST(Misuse, OfArguments) {
  World{}.run(2, [](Rank& rank) {
    int value = 1;
    const auto status_of = [&](const std::function<void(ucc_coll_args_t&)>& change) {
      auto args = one_int(value);
      change(args);
      return rank.run(args);
    };
    EXPECT_EQ(status_of([](auto& args) { args.coll_type = static_cast<ucc_coll_type_t>(3); }), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.dst.info.datatype = UCC_PREDEFINED_DT(18); }), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.dst.info.buffer = nullptr; }), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.dst.info.count = ~0ul / 2; }), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.dst.info.mem_type = UCC_MEMORY_TYPE_CUDA; }), UCC_ERR_NOT_SUPPORTED);
    EXPECT_EQ(status_of([](auto& args) { args.op = UCC_OP_MINLOC; }), UCC_ERR_NOT_SUPPORTED);
    EXPECT_EQ(status_of([](auto& args) { args.op = static_cast<ucc_reduction_op_t>(77); }), UCC_ERR_NOT_SUPPORTED);
    EXPECT_EQ(status_of([](auto& args) {
                args.coll_type = UCC_COLL_TYPE_BCAST;
                args.src.info = args.dst.info;
                args.root = 2;
              }),
              UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) {
                args.coll_type = UCC_COLL_TYPE_ALLGATHER;
                args.dst.info.count = 3;
              }),
              UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) {
                static const std::array<ucc_count_t, 2> counts{~0ul / 8, ~0ul / 8};
                args.coll_type = UCC_COLL_TYPE_ALLGATHERV;
                args.flags |= UCC_COLL_ARGS_FLAG_COUNT_64BIT;
                args.dst.info_v = {args.dst.info.buffer, const_cast<ucc_count_t*>(counts.data()), nullptr, UCC_DT_INT32,
                                   UCC_MEMORY_TYPE_HOST};
              }),
              UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) {
                static const std::array<std::uint32_t, 2> counts{0, 0};
                args.coll_type = UCC_COLL_TYPE_ALLTOALLV;
                args.mask |= UCC_COLL_ARGS_FIELD_GLOBAL_WORK_BUFFER;
                args.flags |= UCC_COLL_ARGS_FLAG_MEM_MAPPED_BUFFERS;
                args.dst.info_v = {args.dst.info.buffer,
                                   reinterpret_cast<ucc_count_t*>(const_cast<std::uint32_t*>(counts.data())), nullptr,
                                   UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
              }),
              UCC_ERR_NOT_SUPPORTED);
    EXPECT_EQ(status_of([](auto& args) {
                args.flags |= UCC_COLL_ARGS_FLAG_TIMEOUT;
                args.timeout = -1;
              }),
              UCC_ERR_INVALID_PARAM);
    auto args = one_int(value);
    ucc_coll_req_h request = nullptr;
    EXPECT_EQ(ucc_collective_init_and_post(&args, &request, rank.team), UCC_ERR_NOT_IMPLEMENTED);
    ucc_ee_params_t engine{};
    ucc_ee_h ee = nullptr;
    EXPECT_EQ(ucc_ee_create(rank.team, &engine, &ee), UCC_ERR_NOT_SUPPORTED);
    // None of it has disturbed the team.
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(value, 2);
  });
}

/// Ranks whose arguments are alike refuse it alike, and read nothing behind its end.
TEST(Misuse, ASourceThatIsShorterThanItsBlock) {
  World{}.run(2, [](Rank& rank) {
    std::array<int, 4> in{1, 2, 3, 4}, out{};
    ucc_count_t counts[] = {2, 2};
    ucc_aint_t places[] = {0, 2};
    const std::array types{UCC_COLL_TYPE_ALLGATHER, UCC_COLL_TYPE_ALLGATHERV, UCC_COLL_TYPE_ALLTOALL,
                           UCC_COLL_TYPE_REDUCE_SCATTER, UCC_COLL_TYPE_REDUCE_SCATTERV};
    for (const auto type : types) {
      const bool has_blocks = type == UCC_COLL_TYPE_ALLGATHERV || type == UCC_COLL_TYPE_REDUCE_SCATTERV;
      const std::size_t needed = type == UCC_COLL_TYPE_ALLGATHER || type == UCC_COLL_TYPE_ALLGATHERV ? 2 : 4;
      for (const std::size_t given : {needed - 1, needed}) {
        auto args = blank(type);
        args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
        args.flags = UCC_COLL_ARGS_FLAG_COUNT_64BIT | UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT;
        args.op = UCC_OP_SUM;
        args.src.info = {in.data(), given, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
        if (has_blocks)
          args.dst.info_v = {out.data(), counts, places, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
        else
          args.dst.info = {out.data(), type == UCC_COLL_TYPE_REDUCE_SCATTER ? 2u : 4u, UCC_DT_INT32,
                           UCC_MEMORY_TYPE_HOST};
        EXPECT_EQ(rank.run(args), given < needed ? UCC_ERR_INVALID_PARAM : UCC_OK) << type << " of " << given;
        args.src.info.buffer = nullptr;
        EXPECT_EQ(rank.run(args), UCC_ERR_INVALID_PARAM) << type;
      }
    }
  });
}

TEST(Misuse, ARankThatGetsNothingNeedsNoBuffer) {
  World{}.run(2, [](Rank& rank) {
    std::array<int, 2> in{1, 2}, out{};
    ucc_count_t counts[] = {2, 0};
    auto args = blank(UCC_COLL_TYPE_REDUCE_SCATTERV);
    args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
    args.flags = UCC_COLL_ARGS_FLAG_COUNT_64BIT;
    args.op = UCC_OP_SUM;
    args.src.info = {in.data(), 2, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
    args.dst.info_v = {rank.rank == 0 ? out.data() : nullptr, counts, nullptr, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(out, (rank.rank == 0 ? std::array{2, 4} : std::array{0, 0}));
  });
}

/// A generic datatype whose pack() gives nothing at one rank: it learns so from its post, the others from their status.
TEST(Misuse, ATypeThatPacksNothing) {
  World{}.run(2, [](Rank& rank) {
    ucc_generic_dt_ops_t ops{};
    ops.start_pack = [](void*, const void* buffer, std::size_t) { return const_cast<void*>(buffer); };
    ops.start_unpack = [](void*, void* buffer, std::size_t) { return buffer; };
    ops.packed_size = [](void*) { return std::size_t{8}; };
    if (rank.rank == 0)
      ops.pack = [](void*, std::size_t at, void*, std::size_t) { return std::size_t{at == 0 ? 4u : 0u}; };
    else
      ops.pack = [](void*, std::size_t, void*, std::size_t most) { return most; };
    ops.unpack = [](void*, std::size_t, const void*, std::size_t) { return UCC_OK; };
    ops.finish = [](void*) {};
    ucc_datatype_t type = 0;
    ASSERT_EQ(ucc_dt_create_generic(&ops, nullptr, &type), UCC_OK);
    std::array<char, 16> in{}, out{};
    auto args = blank(UCC_COLL_TYPE_ALLTOALL);
    args.src.info = {in.data(), 2, type, UCC_MEMORY_TYPE_HOST};
    args.dst.info = {out.data(), 2, type, UCC_MEMORY_TYPE_HOST};
    const auto status = rank.run(args);
    EXPECT_TRUE(rank.rank == 0 ? status == UCC_ERR_INVALID_PARAM : status < UCC_OK) << status;
    ucc_dt_destroy(type);
  });
}

TEST(Misuse, OfActiveSets) {
  World{}.run(2, [](Rank& rank) {
    char byte = 0;
    auto args = blank(UCC_COLL_TYPE_BCAST);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET;
    args.src.info = {&byte, 1, UCC_DT_INT8, UCC_MEMORY_TYPE_HOST};
    args.root = 0;
    args.active_set = {0, 0, std::uint64_t{1} << 60};
    EXPECT_EQ(rank.run(args), UCC_ERR_INVALID_PARAM);
    args.active_set = {0, 0, 2};  // It has the root twice.
    EXPECT_EQ(rank.run(args), UCC_ERR_INVALID_PARAM);
    args.active_set = {0, 1, 2};
    EXPECT_EQ(rank.run(args), UCC_OK);
  });
}

TEST(Misuse, MapsWithoutTheirArrayOrFunction) {
  World{.has_team = false}.run(1, [](Rank& rank) {
    auto params = blank_team_params();
    params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP;
    params.ep_map = {UCC_EP_MAP_ARRAY, 1, {}};
    params.ep_map.array = {nullptr, 4};
    ucc_team_h team = nullptr;
    EXPECT_EQ(rank.make_team(params, team), UCC_ERR_INVALID_PARAM);
    params.ep_map.type = UCC_EP_MAP_CB;
    params.ep_map.cb = {nullptr, nullptr};
    EXPECT_EQ(rank.make_team(params, team), UCC_ERR_INVALID_PARAM);
  });
}

TEST(Misuse, ARequestAfterItsEnd) {
  World{}.run(2, [](Rank& rank) {
    int value = 1;
    auto args = one_int(value);
    args.flags |= UCC_COLL_ARGS_FLAG_PERSISTENT;
    ucc_coll_req_h request = nullptr, first = nullptr, second = nullptr;
    ASSERT_EQ(ucc_collective_init(&args, &request, rank.team), UCC_OK);
    ASSERT_EQ(ucc_collective_post(request), UCC_OK);
    ASSERT_EQ(rank.wait(request), UCC_OK);
    EXPECT_EQ(ucc_collective_finalize(request), UCC_OK);
    EXPECT_EQ(ucc_collective_finalize(request), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_collective_post(request), UCC_ERR_INVALID_PARAM);
    // The memory of one request is not given to two.
    ASSERT_EQ(ucc_collective_init(&args, &first, rank.team), UCC_OK);
    ASSERT_EQ(ucc_collective_init(&args, &second, rank.team), UCC_OK);
    EXPECT_NE(first, second);
    EXPECT_EQ(ucc_collective_finalize(first), UCC_OK);
    EXPECT_EQ(ucc_collective_finalize(second), UCC_OK);
  });
}

TEST(Misuse, ATimeLimitEndsTheTeamAtEachRank) {
  World{}.run(2, [](Rank& rank) {
    int value = 1;
    auto args = one_int(value);
    if (rank.rank == 0) {
      args.flags |= UCC_COLL_ARGS_FLAG_TIMEOUT;
      args.timeout = 0.05;
      EXPECT_EQ(rank.run(args), UCC_ERR_TIMED_OUT);
      EXPECT_EQ(rank.run(args), UCC_ERR_TIMED_OUT);
      return;
    }
    // It comes when the other one has given up, which it reads in its own call.
    ucc_status_t status = UCC_OK;
    while (status == UCC_OK) {
      auto later = one_int(value);
      later.coll_type = UCC_COLL_TYPE_BCAST;
      later.src.info = later.dst.info;
      later.root = 0;
      status = rank.run(later);
    }
    EXPECT_EQ(status, UCC_ERR_TIMED_OUT);
  });
}

TEST(Misuse, AReceiveWithoutASenderTimesOut) {
  World{}.run(2, [](Rank& rank) {
    int value = 1;
    auto args = one_int(value);
    if (rank.rank == 0) {
      args.coll_type = UCC_COLL_TYPE_BCAST;
      args.mask |= UCC_COLL_ARGS_FIELD_ACTIVE_SET;
      args.flags = UCC_COLL_ARGS_FLAG_TIMEOUT;
      args.timeout = 0.05;
      args.src.info = args.dst.info;
      args.root = 1;
      args.active_set = {0, 1, 2};
      EXPECT_EQ(rank.run(args), UCC_ERR_TIMED_OUT);
    }
    // The team goes on.
    auto sum = one_int(value);
    EXPECT_EQ(rank.run(sum), UCC_OK);
    EXPECT_EQ(value, 2);
  });
}

TEST(Misuse, ATeamIsNotDestroyedUnderAReceive) {
  World{.has_team = false}.run(2, [](Rank& rank) {
    ucc_team_h team = nullptr;
    ASSERT_EQ(rank.make_team(blank_team_params(), team), UCC_OK);
    int value = rank.rank;
    auto args = blank(UCC_COLL_TYPE_BCAST);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET;
    args.src.info = {&value, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
    args.root = 1;
    args.active_set = {0, 1, 2};
    ucc_coll_req_h request = nullptr;
    ASSERT_EQ(ucc_collective_init(&args, &request, team), UCC_OK);
    if (rank.rank == 0) {
      ASSERT_EQ(ucc_collective_post(request), UCC_OK);
      EXPECT_EQ(ucc_team_destroy(team), UCC_ERR_INVALID_PARAM);
    }
    auto barrier = blank(UCC_COLL_TYPE_BARRIER);
    EXPECT_EQ(rank.run(barrier, team), UCC_OK);
    if (rank.rank == 1) {
      ASSERT_EQ(ucc_collective_post(request), UCC_OK);
    }
    EXPECT_EQ(rank.wait(request), UCC_OK);
    EXPECT_EQ(value, 1);
    rank.end_team(team);
    // Handles of what has ended are refused, and a request may be finalized late.
    EXPECT_EQ(rank.run(barrier, team), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_collective_post(request), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_collective_finalize(request), UCC_OK);
  });
}

TEST(Misuse, AContextThatIsDestroyedUnderItsTeam) {
  World{.has_team = false}.run(2, [](Rank& rank) {
    ucc_team_h team = nullptr;
    ASSERT_EQ(rank.make_team(blank_team_params(), team), UCC_OK);
    int value = 1;
    auto args = one_int(value);
    ASSERT_EQ(rank.run(args, team), UCC_OK);
    ucc_context_h doomed = rank.context;
    EXPECT_EQ(ucc_context_destroy(doomed), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(rank.run(args, team), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_context_progress(doomed), UCC_ERR_INVALID_PARAM);
    ucc_team_h late = nullptr;
    EXPECT_EQ(rank.make_team(blank_team_params(), late), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_context_destroy(doomed), UCC_ERR_INVALID_PARAM);
    rank.end_team(team);
    EXPECT_EQ(ucc_team_destroy(team), UCC_ERR_INVALID_PARAM);
    rank.context = make_context(rank.library, nullptr);  // The world's end destroys one.
  });
}

TEST(Misuse, RanksThatDifferOnATeam) {
  World{.has_team = false}.run(3, [](Rank& rank) {
    auto params = blank_team_params();
    params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP | UCC_TEAM_PARAM_FIELD_ID;
    params.id = 3;
    // Rank 1 believes that the team has two ranks.
    params.ep_map = {UCC_EP_MAP_FULL, rank.rank == 1 ? 2u : 3u, {}};
    ucc_team_h team = nullptr;
    EXPECT_EQ(rank.make_team(params, team), UCC_ERR_INVALID_PARAM);
    EXPECT_EQ(ucc_team_destroy(team), UCC_OK);
  });
}

TEST(Misuse, AnOobThatFails) {
  const auto library = make_library();
  struct Failing {
    static ucc_status_t allgather(void*, void*, std::size_t, void* how, void** request) {
      *request = how;
      return *static_cast<int*>(how) == 0 ? UCC_ERR_NO_RESOURCE : UCC_OK;
    }
    static ucc_status_t test(void* how) { return *static_cast<int*>(how) == 1 ? UCC_ERR_NO_MESSAGE : UCC_OK; }
    static ucc_status_t free(void*) { return UCC_ERR_NO_MESSAGE; }
  };
  for (int how : {0, 1, 2}) {
    ucc_context_params_t params{};
    params.mask = UCC_CONTEXT_PARAM_FIELD_OOB;
    params.oob = {&Failing::allgather, &Failing::test, &Failing::free, &how, 2, 0};
    ucc_context_h context = nullptr;
    EXPECT_LT(ucc_context_create(library, &params, nullptr, &context), 0);
    context = make_context(library, nullptr);
    auto team_params = blank_team_params();
    team_params.mask = UCC_TEAM_PARAM_FIELD_OOB;
    team_params.oob = params.oob;
    ucc_team_h team = nullptr;
    const ucc_status_t status = Rank{.context = context}.make_team(team_params, team);
    EXPECT_LT(status, 0);
    ASSERT_NE(team, nullptr) << "the begin does not fail";
    EXPECT_EQ(ucc_team_create_test(team), status);
    EXPECT_EQ(ucc_team_destroy(team), UCC_OK);
    EXPECT_EQ(ucc_context_destroy(context), UCC_OK);
  }
  EXPECT_EQ(ucc_finalize(library), UCC_OK);
}

/// A structure of an older header, at the end of what may be read.
template <class Args>
class AtTheEnd {
 public:
  explicit AtTheEnd(std::size_t bytes) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    memory_ =
        static_cast<char*>(::mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(memory_ + page_, page_, PROT_NONE);
    at_ = memory_ + page_ - bytes;
  }
  ~AtTheEnd() { ::munmap(memory_, 2 * page_); }
  AtTheEnd(const AtTheEnd&) = delete;
  Args* get() { return reinterpret_cast<Args*>(at_); }

 private:
  std::size_t page_;
  char *memory_, *at_;
};

TEST(Misuse, StructuresOfOlderHeadersAreNotReadBeyondTheirEnd) {
  constexpr struct {
    unsigned minor;
    std::size_t args_bytes;
  } kHeaders[] = {{0, 160}, {2, 184}, {4, 184}};
  for (const auto& header : kHeaders)
    World{.minor = header.minor}.run(2, [&](Rank& rank) {
      AtTheEnd<ucc_coll_args_t> older(header.args_bytes);
      int value = 1;
      const auto args = one_int(value);
      std::memcpy(static_cast<void*>(older.get()), &args, header.args_bytes);
      // Before active sets, their bit meant nothing.
      if (header.minor == 0) older.get()->mask |= UCC_COLL_ARGS_FIELD_ACTIVE_SET;
      EXPECT_EQ(rank.run(*older.get()), UCC_OK);
      EXPECT_EQ(value, 2);
    });
}

TEST(Misuse, AForkedProcessIsRefused) {
  World{}.run(1, [](Rank& rank) {
    int value = 1;
    auto args = one_int(value);
    ucc_coll_req_h before = nullptr;
    ASSERT_EQ(ucc_collective_init(&args, &before, rank.team), UCC_OK);
    const pid_t child = ::fork();
    if (child == 0) {
      ucc_coll_req_h request = nullptr;
      const bool is_refused = ucc_collective_post(before) == UCC_ERR_INVALID_PARAM &&
                              ucc_collective_init(&args, &request, rank.team) == UCC_ERR_INVALID_PARAM &&
                              ucc_context_progress(rank.context) == UCC_ERR_INVALID_PARAM;
      ::_exit(is_refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ucc_collective_finalize(before), UCC_OK);
    EXPECT_EQ(rank.run(args), UCC_OK);
  });
}

}  // namespace
}  // namespace sumac::ucc::test
