// Mistakes of a program, and failures under it, end in a status: no hang, no crash.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "bindings/xccl/test_ranks.hpp"

namespace sumac::xccl::test {
namespace {

xccl_coll_op_args_t sum_of(int& value) {
  auto args = blank_args(XCCL_ALLREDUCE);
  args.buffer_info.src_buffer = args.buffer_info.dst_buffer = &value;
  args.reduce_info = {XCCL_DT_INT32, XCCL_OP_SUM, 1};
  return args;
}

/// A library in a process of its own, since one that has threads can't start ranks.
void alone(const std::function<void()>& body) {
  rank::test::await_ranks(rank::test::start_on_hosts("a", [&](int) { body(); }));
}

TEST(Misuse, OfLibraries) {
  alone([] {
    xccl_lib_h library = nullptr;
    auto params = blank<xccl_lib_params_t>();
    EXPECT_EQ(xccl_lib_init(nullptr, nullptr, &library), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_lib_init(&params, nullptr, nullptr), XCCL_ERR_INVALID_PARAM);
    const auto init = [&](std::uint64_t field) {
      params.field_mask = field;
      return xccl_lib_init(&params, nullptr, &library);
    };
    EXPECT_EQ(init(XCCL_LIB_PARAM_FIELD_THREAD_MODE), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(init(XCCL_LIB_PARAM_FIELD_COLL_TYPES), XCCL_ERR_UNSUPPORTED);
    EXPECT_EQ(init(XCCL_LIB_PARAM_FIELD_TEAM_USAGE), XCCL_ERR_UNSUPPORTED);
    params.team_usage = XCCL_LIB_PARAMS_TEAM_USAGE_HW_COLLECTIVES | XCCL_LIB_PARAMS_TEAM_USAGE_SW_COLLECTIVES;
    params.coll_types = XCCL_COLL_CAP_ALL;
    params.thread_mode = XCCL_THREAD_MODE_MULTIPLE;
    ASSERT_EQ(
        init(XCCL_LIB_PARAM_FIELD_THREAD_MODE | XCCL_LIB_PARAM_FIELD_COLL_TYPES | XCCL_LIB_PARAM_FIELD_TEAM_USAGE),
        XCCL_OK);
    xccl_tl_id_t* all = nullptr;
    unsigned count = 0;
    EXPECT_EQ(xccl_get_tl_list(library, nullptr, &count), XCCL_ERR_INVALID_PARAM);
    ASSERT_EQ(xccl_get_tl_list(library, &all, &count), XCCL_OK);
    EXPECT_EQ(std::vector<xccl_tl_id_t>(all, all + count),
              (std::vector<xccl_tl_id_t>{XCCL_TL_UCX, XCCL_TL_HIER, XCCL_TL_SHARP, XCCL_TL_SHMSEG}));
    for (unsigned i = 0; i < count; ++i) {
      auto attr = blank<xccl_tl_attr_t>();
      attr.field_mask = 7;
      EXPECT_EQ(xccl_tl_query(library, &all[i], &attr), XCCL_OK);
      EXPECT_EQ(attr.context_create_mode == XCCL_TEAM_LIB_CONTEXT_CREATE_MODE_GLOBAL,
                all[i] == XCCL_TL_HIER || all[i] == XCCL_TL_SHARP);
      EXPECT_EQ(attr.devices_count, 0);
      EXPECT_EQ(attr.devices, nullptr);
      xccl_free_tl_attr(&attr);
    }
    xccl_free_tl_list(all);
    xccl_tl_id_t none = XCCL_TL_NCCL;
    auto attr = blank<xccl_tl_attr_t>();
    EXPECT_EQ(xccl_tl_query(library, &none, &attr), XCCL_ERR_INVALID_PARAM);
    xccl_lib_cleanup(library);
    xccl_lib_cleanup(library);
    EXPECT_EQ(xccl_get_tl_list(library, &all, &count), XCCL_ERR_INVALID_PARAM);
  });
}

TEST(Misuse, OfConfigurations) {
  alone([] {
    ::setenv("APP_XCCL_LOG_LEVEL", "debug", 1);
    xccl_lib_config_t* config = nullptr;
    EXPECT_EQ(xccl_lib_config_read("APP", "/proc/self/stat", &config), XCCL_ERR_NOT_IMPLEMENTED);
    ASSERT_EQ(xccl_lib_config_read("APP", "/no/such/file", &config), XCCL_OK) << "as XCCL does";
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* const stream = ::open_memstream(&text, &bytes);
    xccl_lib_config_print(config, stream, "title",
                          static_cast<ucs_config_print_flags_t>(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HEADER));
    std::fclose(stream);
    EXPECT_NE(std::string(text, bytes).find("# title\n"), std::string::npos) << text;
    EXPECT_NE(std::string(text, bytes).find("APP_XCCL_LOG_LEVEL=debug\n"), std::string::npos) << text;
    ::free(text);
    xccl_lib_config_release(config);
    const auto library = make_library();
    xccl_context_config_t* of_context = nullptr;
    EXPECT_EQ(xccl_context_config_read(nullptr, nullptr, nullptr, &of_context), XCCL_ERR_INVALID_PARAM);
    ASSERT_EQ(xccl_context_config_read(library, nullptr, nullptr, &of_context), XCCL_OK);
    for (const auto id : {XCCL_TL_UCX, XCCL_TL_HIER, XCCL_TL_SHARP, XCCL_TL_SHMSEG}) {
      auto own = id;
      EXPECT_EQ(xccl_context_config_modify(&own, of_context, "NET_DEVICES", "mlx5_0:1"), XCCL_OK) << id;
      EXPECT_EQ(xccl_context_config_modify(&own, of_context, "NO_SUCH_NAME", "1"), XCCL_ERR_NO_ELEM) << id;
    }
    auto other = XCCL_TL_NCCL;
    EXPECT_EQ(xccl_context_config_modify(&other, of_context, "NET_DEVICES", "all"), XCCL_ERR_NO_ELEM);
    EXPECT_EQ(xccl_context_config_modify(nullptr, of_context, "NET_DEVICES", "all"), XCCL_ERR_INVALID_PARAM);
    xccl_context_config_release(of_context);
    xccl_lib_cleanup(library);
  });
}

TEST(Misuse, OfContexts) {
  alone([] {
    Rank rank;
    rank.library = make_library();
    const auto create = [&](const std::function<void(xccl_context_params_t&)>& change) {
      auto params = blank<xccl_context_params_t>();
      params.oob = rank.oob();
      change(params);
      xccl_context_h context = nullptr;
      const auto status = xccl_context_create(rank.library, &params, nullptr, &context);
      if (status == XCCL_OK) {
        EXPECT_EQ(xccl_context_progress(context), XCCL_OK);
        auto attr = blank<xccl_ctx_attr_t>();
        attr.field_mask = XCCL_CTX_ATTR_FIELD_SUPPORTED_COLLS;
        EXPECT_EQ(xccl_ctx_query(context, &attr), XCCL_OK);
        EXPECT_EQ(attr.supported_colls, std::uint64_t{XCCL_COLL_CAP_ALL});
        xccl_free_ctx_attr(&attr);
        EXPECT_EQ(xccl_context_destroy(context), XCCL_OK);
        EXPECT_EQ(xccl_context_destroy(context), XCCL_ERR_INVALID_PARAM);
        EXPECT_EQ(xccl_context_progress(context), XCCL_ERR_INVALID_PARAM);
      }
      return status;
    };
    const auto with = [&](std::uint64_t field, const auto& change) {
      return create([&](auto& params) {
        params.field_mask = field;
        change(params);
      });
    };
    const auto nothing = [](auto&) {};
    EXPECT_EQ(with(0, nothing), XCCL_OK) << "an OOB is not mandatory";
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_OOB, nothing), XCCL_OK) << "a rank alone";
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_THREAD_MODE, nothing), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_TEAM_COMPLETION_TYPE, nothing), XCCL_ERR_INVALID_PARAM);
    for (int type = 0; type <= XCCL_TEAM_COMPLETION_TYPE_SPLIT_PHASE; ++type)
      EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_TEAM_COMPLETION_TYPE,
                     [&](auto& params) { params.completion_type = static_cast<xccl_team_completion_type_t>(type); }),
                XCCL_OK);
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_TLS, [](auto& params) { params.tls = XCCL_TL_NCCL | XCCL_TL_HMC; }),
              XCCL_ERR_UNSUPPORTED);
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_OOB, [](auto& params) { params.oob.req_test = nullptr; }),
              XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_OOB, [](auto& params) { params.oob.rank = 1; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(with(XCCL_CONTEXT_PARAM_FIELD_OOB, [](auto& params) { params.oob.size = 0; }), XCCL_ERR_INVALID_PARAM);
    xccl_lib_cleanup(rank.library);
  });
}

/// Teams of ranges, in contexts whose ranks have met and in those where each team meets by itself.
void ranges(Rank& rank) {
  const auto make = [&](xccl_ep_range_t range, xccl_team_h& team) {
    auto params = blank<xccl_team_params_t>();
    params.field_mask = XCCL_TEAM_PARAM_FIELD_EP_RANGE;
    params.range = range;
    return rank.make_team(params, team);
  };
  const auto sums_to = [&](xccl_team_h team, int expected) {
    int value = 1 << rank.rank;
    auto args = sum_of(value);
    EXPECT_EQ(rank.run(args, team), XCCL_OK);
    EXPECT_EQ(value, expected);
    xccl_team_destroy(team);
  };
  xccl_team_h team = nullptr;
  xccl_ep_range_t range{XCCL_EP_RANGE_FULL, 0, {}};
  ASSERT_EQ(make(range, team), XCCL_OK);
  sums_to(team, 7);
  if (rank.rank != 1) {
    range = {XCCL_EP_RANGE_STRIDED, 2, {}};
    range.strided = {2, -2};
    ASSERT_EQ(make(range, team), XCCL_OK);
    sums_to(team, 5);
  } else {
    int own[] = {1};
    range = {XCCL_EP_RANGE_MAP, 1, {}};
    range.map.map = own;
    ASSERT_EQ(make(range, team), XCCL_OK) << "a rank alone";
    sums_to(team, 2);
  }
  int turned[] = {1, 2, 0};
  range = {XCCL_EP_RANGE_CB, 3, {}};
  range.cb = {[](int one, void* by) { return static_cast<int*>(by)[one]; }, turned};
  ASSERT_EQ(make(range, team), XCCL_OK);
  int own = rank.rank, all[3] = {};
  auto args = blank_args(XCCL_ALLGATHER);
  args.buffer_info.src_buffer = &own;
  args.buffer_info.dst_buffer = all;
  args.buffer_info.len = sizeof all;
  EXPECT_EQ(rank.run(args, team), XCCL_OK);
  EXPECT_TRUE(std::equal(all, all + 3, turned));
  xccl_team_destroy(team);
  // Each rank refuses these by itself.
  for (const auto& [start, stride] : {std::pair{0, 0}, {0, 2}, {-1, 1}}) {
    range = {XCCL_EP_RANGE_STRIDED, 3, {}};
    range.strided = {start, stride};
    EXPECT_EQ(make(range, team), XCCL_ERR_INVALID_PARAM) << start << " " << stride;
  }
  range = {XCCL_EP_RANGE_STRIDED, 2, {}};
  range.strided = {rank.rank == 0 ? 1 : 0, rank.rank == 1 ? 2 : 1};
  EXPECT_EQ(rank.rank == 2 ? XCCL_ERR_INVALID_PARAM : make(range, team), XCCL_ERR_INVALID_PARAM)
      << "it lacks the caller";
  EXPECT_EQ(make({XCCL_EP_RANGE_MAP, 3, {}}, team), XCCL_ERR_INVALID_PARAM);
  EXPECT_EQ(make({XCCL_EP_RANGE_FULL, 4, {}}, team), XCCL_ERR_INVALID_PARAM);
  EXPECT_EQ(make({static_cast<xccl_ep_range_type_t>(9), 3, {}}, team), XCCL_ERR_INVALID_PARAM);
}

TEST(Teams, OfRangesOfAGlobalContext) { run("aaa", ranges); }
TEST(Teams, OfRangesOfALocalContext) { run("aaa", ranges, XCCL_TL_UCX); }

TEST(Misuse, OfArguments) {
  run("aa", [](Rank& rank) {
    int value = 1;
    const auto status_of = [&](const std::function<void(xccl_coll_op_args_t&)>& change) {
      auto args = sum_of(value);
      change(args);
      return rank.run(args);
    };
    const auto of_type = [&](xccl_collective_type_t type, std::size_t bytes) {
      return [&value, type, bytes](auto& args) {
        args.coll_type = type;
        args.buffer_info = {};
        args.buffer_info.src_buffer = &value;
        args.buffer_info.len = bytes;
      };
    };
    EXPECT_EQ(status_of([](auto& args) { args.coll_type = XCCL_COLL_LAST; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.reduce_info.dt = XCCL_DT_LAST_PREDEFINED; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.reduce_info.op = XCCL_OP_LAST_PREDEFINED; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.reduce_info.count = ~std::size_t{0} / 2; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.buffer_info.dst_buffer = nullptr; }), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) { args.field_mask = XCCL_COLL_OP_ARGS_FIELD_STREAM; }), XCCL_ERR_UNSUPPORTED);
    for (const int root : {-1, 2})
      EXPECT_EQ(status_of([&](auto& args) {
                  args.coll_type = XCCL_REDUCE;
                  args.root = root;
                }),
                XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of(of_type(XCCL_BCAST, 4)), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of(of_type(XCCL_ALLTOALL, ~std::size_t{0} / 2)), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of(of_type(XCCL_ALLGATHER, 3)), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of(of_type(XCCL_ALLTOALLV, 0)), XCCL_ERR_INVALID_PARAM) << "no counts";
    EXPECT_EQ(status_of([](auto& args) {
                args.coll_type = XCCL_ALLTOALLV;
                args.buffer_info.dst_datatype = XCCL_DT_UNSUPPORTED;
              }),
              XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(status_of([](auto& args) {
                args.coll_type = XCCL_FANOUT_GET;
                args.get_info = {};
              }),
              XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(status_of([](auto&) {}), XCCL_OK);
    EXPECT_EQ(value, 2);
    xccl_coll_req_h request = nullptr;
    auto args = sum_of(value);
    EXPECT_EQ(xccl_collective_init(nullptr, &request, rank.team), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_init(&args, nullptr, rank.team), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_init(&args, &request, nullptr), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_post(nullptr), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_wait(nullptr), XCCL_ERR_INVALID_PARAM);
    xccl_mem_h memory = nullptr;
    EXPECT_EQ(xccl_global_mem_map_start(nullptr, {}, &memory), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_global_mem_map_test(memory), XCCL_ERR_INVALID_PARAM);
  });
}

TEST(Misuse, OrdersOfARequestsLifeAndOfTheEnd) {
  run("aa", [](Rank& rank) {
    int value = 1;
    auto args = sum_of(value);
    xccl_team_h team = nullptr;
    ASSERT_EQ(rank.make_team(blank<xccl_team_params_t>(), team), XCCL_OK);
    xccl_coll_req_h request = nullptr;
    ASSERT_EQ(xccl_collective_init(&args, &request, team), XCCL_OK);
    EXPECT_EQ(xccl_collective_test(request), XCCL_ERR_INVALID_PARAM) << "it is not posted";
    // One rank posts, tries all that is wrong, and lets the other one come.
    auto turn = blank_args(XCCL_BARRIER);
    if (rank.rank == 0) {
      ASSERT_EQ(xccl_collective_post(request), XCCL_OK);
      EXPECT_EQ(xccl_collective_test(request), XCCL_INPROGRESS);
      EXPECT_EQ(xccl_collective_post(request), XCCL_ERR_INVALID_PARAM);
      EXPECT_EQ(xccl_collective_finalize(request), XCCL_ERR_INVALID_PARAM);
      xccl_team_destroy(team);
      EXPECT_EQ(xccl_team_create_test(team), XCCL_OK) << "it stays";
    }
    EXPECT_EQ(rank.run(turn), XCCL_OK);
    if (rank.rank == 1) {
      EXPECT_EQ(xccl_collective_post(request), XCCL_OK);
    }
    EXPECT_EQ(xccl_collective_wait(request), XCCL_OK);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(rank.run(turn), XCCL_OK);
    xccl_team_destroy(team);
    EXPECT_EQ(xccl_collective_post(request), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_finalize(request), XCCL_OK);
    EXPECT_EQ(xccl_collective_finalize(request), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_collective_init(&args, &request, team), XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_team_create_test(team), XCCL_ERR_INVALID_PARAM);
    xccl_team_destroy(team);
    // A context that ends before a team of it, which has a collective under way.
    Rank second = rank;
    second.context = make_context(second);
    ASSERT_EQ(second.make_team(blank<xccl_team_params_t>(), second.team), XCCL_OK);
    ASSERT_EQ(xccl_collective_init(&args, &request, second.team), XCCL_OK);
    if (rank.rank == 0) {
      EXPECT_EQ(xccl_collective_post(request), XCCL_OK);
    }
    EXPECT_EQ(xccl_context_destroy(second.context), XCCL_ERR_INVALID_PARAM);
    if (rank.rank == 1) {
      EXPECT_EQ(xccl_collective_post(request), XCCL_ERR_INVALID_PARAM);
    }
    EXPECT_LT(xccl_collective_wait(request), XCCL_OK);
    EXPECT_EQ(xccl_context_progress(second.context), XCCL_ERR_INVALID_PARAM);
    xccl_team_destroy(second.team);
    (void)xccl_collective_finalize(request);
  });
}

/// The program's allgather fails at once, later, or never ends.
TEST(Misuse, OfAnOob) {
  alone([] {
    ::setenv("SUMAC_TIMEOUT", "100ms", 1);
    const auto library = make_library();
    const auto fails = [](void*, void*, std::size_t, int, xccl_ep_range_t, void*, void**) -> int { return -1; };
    const auto begins = [](void*, void*, std::size_t, int, xccl_ep_range_t, void*, void**) -> int { return 0; };
    const auto ends = [](void*) { return XCCL_OK; };
    const xccl_oob_collectives_t oobs[] = {
        {fails, ends, ends, nullptr, 0, 2},
        {begins, [](void*) { return XCCL_ERR_NO_RESOURCE; }, ends, nullptr, 0, 2},
        {begins, [](void*) { return XCCL_INPROGRESS; }, ends, nullptr, 0, 2},
    };
    for (const auto& oob : oobs) {
      const auto expected = &oob == &oobs[2] ? XCCL_ERR_NO_PROGRESS : XCCL_ERR_NO_MESSAGE;
      auto params = blank<xccl_context_params_t>();
      params.field_mask = XCCL_CONTEXT_PARAM_FIELD_OOB;
      params.oob = oob;
      xccl_context_h context = nullptr;
      EXPECT_EQ(xccl_context_create(library, &params, nullptr, &context), expected);
      params.field_mask = 0;
      ASSERT_EQ(xccl_context_create(library, &params, nullptr, &context), XCCL_OK);
      Rank rank;
      rank.context = context;
      auto of_team = blank<xccl_team_params_t>();
      xccl_team_h team = nullptr;
      EXPECT_EQ(rank.make_team(of_team, team), XCCL_ERR_INVALID_PARAM) << "nobody has an OOB";
      of_team.field_mask = XCCL_TEAM_PARAM_FIELD_OOB;
      of_team.oob = oob;
      EXPECT_EQ(rank.make_team(of_team, team), expected);
      xccl_team_destroy(team);
      // A rank alone needs none.
      of_team.oob.size = 1;
      ASSERT_EQ(rank.make_team(of_team, team), XCCL_OK);
      xccl_team_destroy(team);
      EXPECT_EQ(xccl_context_destroy(context), XCCL_OK);
    }
    xccl_lib_cleanup(library);
  });
}

TEST(Misuse, AForkedProcess) {
  run("aa", [](Rank& rank) {
    int value = 1;
    auto args = sum_of(value);
    xccl_coll_req_h request = nullptr;
    ASSERT_EQ(xccl_collective_init(&args, &request, rank.team), XCCL_OK);
    const pid_t child = ::fork();
    if (child == 0) {
      xccl_coll_req_h other = nullptr;
      xccl_team_h team = nullptr;
      auto params = blank<xccl_team_params_t>();
      const bool is_refused = xccl_collective_post(request) == XCCL_ERR_INVALID_PARAM &&
                              xccl_collective_wait(request) < XCCL_OK &&
                              xccl_collective_init(&args, &other, rank.team) == XCCL_ERR_INVALID_PARAM &&
                              xccl_context_progress(rank.context) == XCCL_ERR_INVALID_PARAM &&
                              xccl_team_create_post(rank.context, &params, &team) == XCCL_ERR_INVALID_PARAM;
      ::_exit(is_refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(xccl_collective_post(request), XCCL_OK);
    EXPECT_EQ(xccl_collective_wait(request), XCCL_OK);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(xccl_collective_finalize(request), XCCL_OK);
  });
}

/// The root's want of memory reaches the ranks that would wait for it.
TEST(Misuse, ARootWithoutMemory) {
  run("aa", [](Rank& rank) {
    auto params = blank<xccl_mem_map_params_t>();
    params.field_mask = XCCL_MEM_MAP_PARAM_FIELD_LENGTH | XCCL_MEM_MAP_PARAM_FIELD_ROOT;
    params.length = PTRDIFF_MAX - 4096;
    params.root = 0;
    xccl_mem_h memory = nullptr;
    ASSERT_EQ(xccl_global_mem_map_start(rank.team, params, &memory), XCCL_OK);
    xccl_status_t status = XCCL_OK;
    while ((status = xccl_global_mem_map_test(memory)) == XCCL_INPROGRESS) ::sched_yield();
    EXPECT_EQ(status, XCCL_ERR_INVALID_PARAM);
    EXPECT_EQ(xccl_global_mem_unmap(memory), XCCL_OK);
  });
}

/// Whoever waits for a rank that was killed has an error, also in a fetch's first step, and can end what it has.
void one_dies(Rank& rank) {
  int value = 1;
  auto params = blank<xccl_mem_map_params_t>();
  params.field_mask =
      XCCL_MEM_MAP_PARAM_FIELD_ADDRESS | XCCL_MEM_MAP_PARAM_FIELD_LENGTH | XCCL_MEM_MAP_PARAM_FIELD_ROOT;
  params.address = &value;
  params.length = sizeof value;
  params.root = 0;
  xccl_mem_h memory = nullptr;
  ASSERT_EQ(xccl_global_mem_map_start(rank.team, params, &memory), XCCL_OK);
  while (xccl_global_mem_map_test(memory) == XCCL_INPROGRESS) ::sched_yield();
  auto args = blank_args(XCCL_FANOUT_GET);
  args.get_info = {memory, 0, &value, sizeof value};
  for (int turn = 1; rank.run(args) == XCCL_OK; ++turn)
    if (rank.rank == 1 && turn == 3) ::raise(SIGKILL);
  EXPECT_LT(rank.run(args), XCCL_OK) << "the team is broken";
  EXPECT_EQ(xccl_global_mem_unmap(memory), XCCL_OK);
}

TEST(Misuse, ARankOfTheHostIsKilled) { run("aaa", one_dies, XCCL_TL_ALL, 1); }
TEST(Misuse, ARankOfAnotherHostIsKilled) { run("ab", one_dies, XCCL_TL_ALL, 1); }

}  // namespace
}  // namespace sumac::xccl::test
