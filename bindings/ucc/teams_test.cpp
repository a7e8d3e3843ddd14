// Teams: how they are made and end, their forms, active sets, threads and datatypes of the program's own.
#include <algorithm>
#include <array>

#include "bindings/ucc/test_ranks.hpp"

namespace sumac::ucc::test {
namespace {

/// The sum of `value` over the team.
ucc_status_t sum(const Rank& rank, ucc_team_h team, int value, int& out) {
  auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
  args.src.info = {&value, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
  args.dst.info = {&out, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
  args.op = UCC_OP_SUM;
  return rank.run(args, team);
}

std::uint64_t reversed(std::uint64_t ep, void* last) { return *static_cast<std::uint64_t*>(last) - ep; }

TEST(Teams, OfAContextAloneByEachKindOfMap) {
  World{.has_team = false}.run(5, [](Rank& rank) {
    const std::uint32_t narrow[] = {4, 0, 3};
    const std::uint64_t wide[] = {1, 2};
    std::uint64_t last = 4;
    ucc_ep_map_t maps[5] = {};
    maps[0].type = UCC_EP_MAP_FULL;
    maps[0].ep_num = 5;
    maps[1].type = UCC_EP_MAP_STRIDED;
    maps[1].ep_num = 3;
    maps[1].strided = {4, -2};  // 4, 2, 0
    maps[2].type = UCC_EP_MAP_ARRAY;
    maps[2].ep_num = 3;
    maps[2].array = {const_cast<std::uint32_t*>(narrow), 4};
    maps[3].type = UCC_EP_MAP_ARRAY;
    maps[3].ep_num = 2;
    maps[3].array = {const_cast<std::uint64_t*>(wide), 8};
    maps[4].type = UCC_EP_MAP_CB;
    maps[4].ep_num = 5;
    maps[4].cb = {&reversed, &last};
    const std::vector<int> expected[] = {{0, 1, 2, 3, 4}, {4, 2, 0}, {4, 0, 3}, {1, 2}, {4, 3, 2, 1, 0}};
    for (int turn = 0; turn < 2; ++turn)  // The same names again.
      for (std::size_t i = 0; i < std::size(maps); ++i) {
        SCOPED_TRACE(testing::Message() << "map " << i << " turn " << turn);
        const auto& ranks = expected[i];
        const auto own = std::find(ranks.begin(), ranks.end(), rank.rank);
        auto params = blank_team_params();
        params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP | (i % 2 == 0 ? UCC_TEAM_PARAM_FIELD_ID : 0);
        params.ep_map = maps[i];
        params.id = 40000 + i;
        ucc_team_h team = nullptr;
        if (own == ranks.end()) {
          EXPECT_EQ(rank.make_team(params, team), UCC_ERR_INVALID_PARAM);
          continue;
        }
        params.mask |= UCC_TEAM_PARAM_FIELD_EP | UCC_TEAM_PARAM_FIELD_EP_RANGE;
        params.ep = static_cast<std::uint64_t>(own - ranks.begin());
        params.ep_range = UCC_COLLECTIVE_EP_RANGE_CONTIG;
        ASSERT_EQ(rank.make_team(params, team), UCC_OK);
        ucc_team_attr_t attr;
        std::memset(&attr, 0xa5, sizeof attr);
        attr.mask = UCC_TEAM_ATTR_FIELD_SIZE | UCC_TEAM_ATTR_FIELD_EP;
        EXPECT_EQ(ucc_team_get_attr(team, &attr), UCC_OK);
        EXPECT_EQ(attr.size, ranks.size());
        EXPECT_EQ(attr.ep, params.ep);
        // The order of the map is that of the ranks.
        std::vector<int> all(ranks.size(), -1);
        auto args = blank(UCC_COLL_TYPE_ALLGATHER);
        args.src.info = {&rank.rank, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        args.dst.info = {all.data(), all.size(), UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        EXPECT_EQ(rank.run(args, team), UCC_OK);
        EXPECT_EQ(all, ranks);
        rank.end_team(team);
      }
  });
}

TEST(Teams, OfAContextWithoutAnOobByTheirOwn) {
  World{.has_context_oob = false}.run(3, [](Rank& rank) {
    int out = 0;
    EXPECT_EQ(sum(rank, rank.team, rank.rank, out), UCC_OK);
    EXPECT_EQ(out, 3);
    auto params = blank_team_params();
    params.mask = UCC_TEAM_PARAM_FIELD_EP_MAP;
    params.ep_map = {UCC_EP_MAP_FULL, 3, {}};
    ucc_team_h team = nullptr;
    EXPECT_EQ(rank.make_team(params, team), UCC_ERR_INVALID_PARAM);
  });
}

TEST(Teams, OfAParentInTheOrderOfEndpoints) {
  World{}.run(4, [](Rank& rank) {
    ucc_team_h part = nullptr;
    // 3, 2 and 0 in this order.
    ASSERT_EQ(ucc_team_create_from_parent(static_cast<std::uint64_t>(10 - rank.rank), rank.rank != 1, rank.team, &part),
              UCC_OK);
    ucc_status_t status = UCC_INPROGRESS;
    while ((status = ucc_team_create_test(part)) == UCC_INPROGRESS) ucc_context_progress(rank.context);
    EXPECT_EQ(status, UCC_OK);
    if (rank.rank == 1) {
      int out = 0;
      EXPECT_EQ(sum(rank, part, 1, out), UCC_ERR_INVALID_PARAM);
    } else {
      std::array<int, 3> all{};
      auto args = blank(UCC_COLL_TYPE_ALLGATHER);
      args.src.info = {&rank.rank, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
      args.dst.info = {all.data(), 3, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
      EXPECT_EQ(rank.run(args, part), UCC_OK);
      EXPECT_EQ(all, (std::array<int, 3>{3, 2, 0}));
    }
    rank.end_team(part);
  });
}

TEST(Teams, OneThreadDrivesAllRanks) {
  constexpr int kSize = 3;
  Allgather teams(kSize);
  std::array<Rank, kSize> ranks;
  for (int one = 0; one < kSize; ++one) {
    auto& rank = ranks[static_cast<std::size_t>(one)];
    rank = {.rank = one, .size = kSize, .library = make_library(), .team_oob = {&teams, one}};
    rank.context = make_context(rank.library, nullptr);
    const auto params = params_by_oob(rank);
    ASSERT_EQ(ucc_team_create_post(&rank.context, 1, &params, &rank.team), UCC_OK);
  }
  for (int left = kSize; left > 0;) {
    left = 0;
    for (auto& rank : ranks) left += ucc_team_create_test(rank.team) == UCC_INPROGRESS ? 1 : 0;
  }
  std::array<int, kSize> in{1, 2, 3}, out{};
  std::array<ucc_coll_req_h, kSize> requests{};
  for (std::size_t one = 0; one < kSize; ++one) {
    auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
    args.src.info = {&in[one], 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
    args.dst.info = {&out[one], 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
    args.op = UCC_OP_SUM;
    ASSERT_EQ(ucc_collective_init(&args, &requests[one], ranks[one].team), UCC_OK);
    ASSERT_EQ(ucc_collective_post(requests[one]), UCC_OK);
    if (one + 1 < kSize) {
      EXPECT_EQ(ucc_collective_test(requests[one]), UCC_INPROGRESS);
      EXPECT_EQ(ucc_collective_finalize(requests[one]), UCC_ERR_INVALID_PARAM);
    }
  }
  for (int left = kSize; left > 0;) {
    left = 0;
    for (std::size_t one = 0; one < kSize; ++one) {
      ucc_context_progress(ranks[one].context);
      left += ucc_collective_test(requests[one]) == UCC_INPROGRESS ? 1 : 0;
    }
  }
  EXPECT_EQ(out, (std::array<int, kSize>{6, 6, 6}));
  for (std::size_t one = 0; one < kSize; ++one) {
    EXPECT_EQ(ucc_collective_finalize(requests[one]), UCC_OK);
    ranks[one].end_team(ranks[one].team);
    EXPECT_EQ(ucc_context_destroy(ranks[one].context), UCC_OK);
    EXPECT_EQ(ucc_finalize(ranks[one].library), UCC_OK);
  }
}

/// As PyTorch sends and receives.
TEST(Teams, SendAndReceiveByActiveSetsWithTags) {
  World{}.run(3, [](Rank& rank) {
    const auto message = [&](int from, int to, ucc_coll_id_t tag, std::vector<int>& data) {
      auto args = blank(UCC_COLL_TYPE_BCAST);
      args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET | UCC_COLL_ARGS_FIELD_TAG | UCC_COLL_ARGS_FIELD_FLAGS;
      args.flags = UCC_COLL_ARGS_FLAG_TIMEOUT;
      args.timeout = 600;
      args.src.info = {data.data(), data.size(), UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
      args.root = static_cast<std::uint64_t>(from);
      args.tag = tag;
      args.active_set = {static_cast<std::uint64_t>(from), to - from, 2};
      ucc_coll_req_h request = nullptr;
      EXPECT_EQ(ucc_collective_init(&args, &request, rank.team), UCC_OK);
      EXPECT_EQ(ucc_collective_post(request), UCC_OK);
      return request;
    };
    const auto end = [&](ucc_coll_req_h request) {
      EXPECT_EQ(rank.wait(request), UCC_OK);
      EXPECT_EQ(ucc_collective_finalize(request), UCC_OK);
    };
    // Rank 2 takes what ranks 0 and 1 send in another order of tags; one message is longer than a pipe.
    std::vector<int> small(3, rank.rank + 1), large(200000, 10 * (rank.rank + 1));
    if (rank.rank < 2) {
      auto* first = message(rank.rank, 2, 7, small);
      auto* second = message(rank.rank, 2, 8, large);
      end(second);
      end(first);
      return;
    }
    for (const int from : {1, 0}) {
      std::vector<int> got_small(3), got_large(200000);
      auto* second = message(from, 2, 8, got_large);
      auto* first = message(from, 2, 7, got_small);
      end(first);
      end(second);
      EXPECT_EQ(got_small, std::vector<int>(3, from + 1));
      EXPECT_EQ(got_large, std::vector<int>(200000, 10 * (from + 1)));
    }
  });
}

TEST(Teams, AnActiveSetOfMoreRanksAndWhatIsRefused) {
  World{}.run(4, [](Rank& rank) {
    int value = rank.rank == 3 ? 42 : 0;
    auto args = blank(UCC_COLL_TYPE_BCAST);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET;
    args.src.info = {&value, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_HOST};
    args.root = 3;
    args.active_set = {1, 1, 3};
    EXPECT_EQ(rank.run(args), rank.rank == 0 ? UCC_ERR_INVALID_PARAM : UCC_OK);
    EXPECT_EQ(value, rank.rank == 0 ? 0 : 42);
    args.active_set = {1, 1, 4};
    EXPECT_EQ(rank.run(args), UCC_ERR_INVALID_PARAM);
    args = blank(UCC_COLL_TYPE_BARRIER);
    args.mask = UCC_COLL_ARGS_FIELD_ACTIVE_SET;
    args.active_set = {0, 1, 4};
    EXPECT_EQ(rank.run(args), UCC_ERR_NOT_SUPPORTED);
  });
}

/// Two threads of each rank have a team each, and a third one alone makes progress.
TEST(Teams, AnyThreadMayUseThem) {
  World{.mode = UCC_THREAD_MULTIPLE}.run(2, [](Rank& rank) {
    auto params = blank_team_params();
    ucc_team_h second = nullptr;
    ASSERT_EQ(rank.make_team(params, second), UCC_OK);
    std::atomic<bool> is_over{false};
    std::thread progress([&] {
      while (!is_over) {
        ucc_context_progress(rank.context);
        ::sched_yield();
      }
    });
    const auto use = [&](ucc_team_h team) {
      for (int turn = 0; turn < 300; ++turn) {
        int in = turn + rank.rank, out = 0;
        auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
        args.src.info = {&in, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        args.dst.info = {&out, 1, UCC_DT_INT32, UCC_MEMORY_TYPE_UNKNOWN};
        args.op = UCC_OP_SUM;
        ucc_coll_req_h request = nullptr;
        ASSERT_EQ(ucc_collective_init(&args, &request, team), UCC_OK);
        ASSERT_EQ(ucc_collective_post(request), UCC_OK);
        while (__atomic_load_n(&request->status, __ATOMIC_ACQUIRE) == UCC_INPROGRESS) ::sched_yield();
        ASSERT_EQ(request->status, UCC_OK);
        ASSERT_EQ(out, 2 * turn + 1);
        ASSERT_EQ(ucc_collective_finalize(request), UCC_OK);
      }
    };
    std::thread one([&] { use(rank.team); }), other([&] { use(second); });
    one.join();
    other.join();
    is_over = true;
    progress.join();
    rank.end_team(second);
  });
}

/// Its elements are the first of two ints.
struct Pairs {
  static void* start_pack(void*, const void* buffer, std::size_t count) {
    return new Pairs{static_cast<int*>(const_cast<void*>(buffer)), count};
  }
  static void* start_unpack(void*, void* buffer, std::size_t count) { return start_pack(nullptr, buffer, count); }
  static std::size_t packed_size(void* state) { return static_cast<Pairs*>(state)->count * sizeof(int); }
  static std::size_t pack(void* state, std::size_t offset, void* to, std::size_t most) {
    const auto& self = *static_cast<Pairs*>(state);
    std::size_t bytes = 0;
    // One element a call: the library asks again.
    if (most >= sizeof(int)) {
      std::memcpy(to, self.at + 2 * (offset / sizeof(int)), sizeof(int));
      bytes = sizeof(int);
    }
    return bytes;
  }
  static ucc_status_t unpack(void* state, std::size_t offset, const void* from, std::size_t bytes) {
    const auto& self = *static_cast<Pairs*>(state);
    for (std::size_t i = 0; i < bytes / sizeof(int); ++i)
      std::memcpy(self.at + 2 * (offset / sizeof(int) + i), static_cast<const int*>(from) + i, sizeof(int));
    return UCC_OK;
  }
  static void finish(void* state) { delete static_cast<Pairs*>(state); }
  int* at;
  std::size_t count;
};

/// Adds three bytes as a number each, and counts its calls.
ucc_status_t add_threes(const ucc_reduce_cb_params_t* params) {
  ++*static_cast<std::atomic<int>*>(params->cb_ctx);
  for (std::size_t i = 0; i < 3 * params->count; ++i)
    static_cast<char*>(params->dst)[i] =
        static_cast<char>(static_cast<char*>(params->src1)[i] + static_cast<char*>(params->src2)[i]);
  return UCC_OK;
}

TEST(Teams, DatatypesOfTheProgramsOwn) {
  World{}.run(3, [](Rank& rank) {
    ucc_generic_dt_ops_t ops;
    std::memset(&ops, 0xa5, sizeof ops);
    ops.mask = 0;
    ops.start_pack = &Pairs::start_pack;
    ops.start_unpack = &Pairs::start_unpack;
    ops.packed_size = &Pairs::packed_size;
    ops.pack = &Pairs::pack;
    ops.unpack = &Pairs::unpack;
    ops.finish = &Pairs::finish;
    ucc_datatype_t pairs = 0;
    ASSERT_EQ(ucc_dt_create_generic(&ops, nullptr, &pairs), UCC_OK);
    std::array<int, 4> own{rank.rank, -1, rank.rank + 10, -1};
    std::array<int, 12> all;
    all.fill(-2);
    auto args = blank(UCC_COLL_TYPE_ALLGATHER);
    args.src.info = {own.data(), 2, pairs, UCC_MEMORY_TYPE_HOST};
    args.dst.info = {all.data(), 6, pairs, UCC_MEMORY_TYPE_HOST};
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(all, (std::array<int, 12>{0, -2, 10, -2, 1, -2, 11, -2, 2, -2, 12, -2}));
    args = blank(UCC_COLL_TYPE_BCAST);
    args.src.info = {own.data(), 2, pairs, UCC_MEMORY_TYPE_HOST};
    args.root = 1;
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(own, (std::array<int, 4>{1, -1, 11, -1}));
    args = blank(UCC_COLL_TYPE_ALLREDUCE);
    args.src.info = args.dst.info = {own.data(), 2, pairs, UCC_MEMORY_TYPE_HOST};
    args.op = UCC_OP_SUM;
    EXPECT_EQ(rank.run(args), UCC_ERR_NOT_SUPPORTED);
    ucc_dt_destroy(pairs);

    std::atomic<int> calls{0};
    ops.mask = UCC_GENERIC_DT_OPS_FIELD_FLAGS;
    ops.flags = UCC_GENERIC_DT_OPS_FLAG_CONTIG | UCC_GENERIC_DT_OPS_FLAG_REDUCE;
    ops.contig_size = 3;
    ops.reduce.cb = &add_threes;
    ops.reduce.cb_ctx = &calls;
    ucc_datatype_t threes = 0;
    ASSERT_EQ(ucc_dt_create_generic(&ops, nullptr, &threes), UCC_OK);
    std::array<char, 6> in{1, 2, 3, 4, 5, static_cast<char>(rank.rank)}, out{};
    args.src.info = {in.data(), 2, threes, UCC_MEMORY_TYPE_HOST};
    args.dst.info = {out.data(), 2, threes, UCC_MEMORY_TYPE_HOST};
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(out, (std::array<char, 6>{3, 6, 9, 12, 15, 3}));
    // Another rank may add up with this one's function's twin.
    ucc_dt_destroy(threes);
  });
}

TEST(Teams, ACallbackMayFinalizeItsRequest) {
  World{}.run(2, [](Rank& rank) {
    struct Seen {
      ucc_coll_req_h request = nullptr;
      int calls = 0;
      ucc_status_t status = UCC_ERR_LAST;
    } seen;
    for (const bool is_empty : {false, true}) {
      float value = 2;
      auto args = blank(UCC_COLL_TYPE_ALLREDUCE);
      args.mask = UCC_COLL_ARGS_FIELD_CB | UCC_COLL_ARGS_FIELD_FLAGS;
      args.flags = UCC_COLL_ARGS_FLAG_IN_PLACE;
      args.dst.info = {&value, is_empty ? 0u : 1u, UCC_DT_FLOAT32, UCC_MEMORY_TYPE_HOST};
      args.op = UCC_OP_AVG;
      args.cb.data = &seen;
      args.cb.cb = [](void* data, ucc_status_t status) {
        auto& at = *static_cast<Seen*>(data);
        ++at.calls;
        at.status = at.request->status == status ? status : UCC_ERR_LAST;
        EXPECT_EQ(ucc_collective_finalize(at.request), UCC_OK);
      };
      seen = {};
      ASSERT_EQ(ucc_collective_init(&args, &seen.request, rank.team), UCC_OK);
      ASSERT_EQ(ucc_collective_post(seen.request), UCC_OK);
      while (seen.calls == 0) ucc_context_progress(rank.context);
      EXPECT_EQ(seen.calls, 1);
      EXPECT_EQ(seen.status, UCC_OK);
      EXPECT_EQ(value, 2);
    }
  });
}

// A request is used again and again: what one has to do with its result is no task of the next. UCC's own tests found it.
TEST(Teams, AnAverageOfNothingFollowsOneOfSomething) {
  World{}.run(2, [](Rank& rank) {
    for (const std::uint32_t each : {1u, 0u}) {
      std::array<double, 2> in{1.0 + rank.rank, 5};
      double out = -1;
      std::array<std::uint32_t, 2> counts{each, each};
      auto args = blank(UCC_COLL_TYPE_REDUCE_SCATTERV);
      args.op = UCC_OP_AVG;
      args.src.info = {in.data(), each * 2, UCC_DT_FLOAT64, UCC_MEMORY_TYPE_HOST};
      args.dst.info_v = {&out, reinterpret_cast<ucc_count_t*>(counts.data()), nullptr, UCC_DT_FLOAT64,
                         UCC_MEMORY_TYPE_HOST};
      ASSERT_EQ(rank.run(args), UCC_OK);
      EXPECT_EQ(out, each == 0 ? -1 : rank.rank == 0 ? 1.5 : 5);
    }
  });
}

TEST(Teams, DisplacementsMayBeAddresses) {
  World{}.run(2, [](Rank& rank) {
    std::array<std::uint8_t, 2> mine{static_cast<std::uint8_t>(rank.rank), 77};
    std::uint8_t from_first = 0, from_second = 0;
    const std::array<ucc_count_t, 2> counts{1, 1};
    const std::array<ucc_aint_t, 2> places{reinterpret_cast<ucc_aint_t>(&from_first),
                                           reinterpret_cast<ucc_aint_t>(&from_second)};
    auto args = blank(UCC_COLL_TYPE_ALLGATHERV);
    args.mask = UCC_COLL_ARGS_FIELD_FLAGS;
    args.flags = UCC_COLL_ARGS_FLAG_COUNT_64BIT | UCC_COLL_ARGS_FLAG_DISPLACEMENTS_64BIT;
    args.src.info = {mine.data() + 1 - rank.rank, 1, UCC_DT_UINT8, UCC_MEMORY_TYPE_HOST};
    args.dst.info_v = {nullptr, const_cast<ucc_count_t*>(counts.data()), const_cast<ucc_aint_t*>(places.data()),
                       UCC_DT_UINT8, UCC_MEMORY_TYPE_HOST};
    EXPECT_EQ(rank.run(args), UCC_OK);
    EXPECT_EQ(from_first, 77);
    EXPECT_EQ(from_second, 1);
  });
}

}  // namespace
}  // namespace sumac::ucc::test
