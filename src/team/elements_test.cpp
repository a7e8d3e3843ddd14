// Folds of the caller's own: wide elements, and a function that does not commute.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "shm/algorithms.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

/// An element is a row of affine maps x -> a x + b; their composition is associative and does not commute.
struct Map {
  std::uint32_t a, b;
};

void compose(const sumac_fold_t* fold, void* out, const void* a, const void* b, std::size_t count) {
  const std::size_t maps = count * fold->element_bytes / sizeof(Map);
  for (std::size_t i = 0; i < maps; ++i) {
    Map first, second;
    std::memcpy(&first, static_cast<const Map*>(a) + i, sizeof first);
    std::memcpy(&second, static_cast<const Map*>(b) + i, sizeof second);
    const Map both{first.a * second.a, second.a * first.b + second.b};
    std::memcpy(static_cast<Map*>(out) + i, &both, sizeof both);
  }
}

Map map_of(int rank, std::size_t i) {
  SplitMix64 random(static_cast<std::uint64_t>(rank) << 32 | i);
  const std::uint64_t bits = random.next();
  return {static_cast<std::uint32_t>(bits) | 1, static_cast<std::uint32_t>(bits >> 32)};
}

std::vector<Map> vector_of(int rank, std::size_t maps) {
  std::vector<Map> made(maps);
  for (std::size_t i = 0; i < maps; ++i) made[i] = map_of(rank, i);
  return made;
}

/// Runs one reduction of `count` elements and compares it with the composition in the order of ranks.
std::string reduce_once(sumac_team_t* team, const World& world, sumac_coll coll, std::size_t element_bytes,
                        std::size_t count, bool in_place) {
  sumac_fold_t fold;
  EXPECT_EQ(sumac_fold_custom(&fold, element_bytes, compose, nullptr), SUMAC_TEAM_OK);
  const int root = world.size - 1;
  const bool spreads = coll == SUMAC_COLL_REDUCE_SCATTER_BLOCK, keeps = coll != SUMAC_COLL_REDUCE || world.rank == root;
  const std::size_t maps = count * element_bytes / sizeof(Map);
  const std::size_t given = spreads ? maps * static_cast<std::size_t>(world.size) : maps;
  std::vector<Map> in = vector_of(world.rank, given), out(given);
  in_place = in_place && keeps;
  if (in_place) out = in;
  sumac_call_t call{};
  call.coll = static_cast<std::uint8_t>(coll);
  call.root = root;
  call.in = in_place ? out.data() : in.data();
  call.out = keeps ? out.data() : nullptr;
  call.bytes = count * element_bytes;
  call.fold = &fold;
  if (const int rc = sumac_team_run(team, &call); rc != SUMAC_TEAM_OK) return fmt::format("answer {}", rc);
  const std::size_t first = spreads ? maps * static_cast<std::size_t>(world.rank) : 0;
  for (std::size_t i = 0; i < maps && keeps; ++i) {
    Map want = map_of(0, first + i);
    for (int rank = 1; rank < world.size; ++rank) {
      const Map next = map_of(rank, first + i);
      want = {want.a * next.a, next.a * want.b + next.b};
    }
    if (out[i].a != want.a || out[i].b != want.b)
      return fmt::format("{}: {} elements of {} bytes: map {} is wrong", sumac_coll_name(coll), count, element_bytes,
                         i);
  }
  return "";
}

constexpr sumac_coll kReductions[] = {SUMAC_COLL_ALLREDUCE, SUMAC_COLL_REDUCE, SUMAC_COLL_REDUCE_SCATTER_BLOCK};

std::string reduce_all(World& world, sumac_team_t* team) {
  for (const sumac_coll coll : kReductions) {
    const std::size_t most = sumac_team_element_bytes_max(team, coll) / sizeof(Map) * sizeof(Map);
    for (const std::size_t element : {std::size_t{8}, std::size_t{72}, std::size_t{520}, most})
      for (const std::size_t count : {1, 2, 7, 100})
        for (const bool in_place : {false, true})
          if (element <= most)
            if (auto fault = reduce_once(team, world, coll, element, count, in_place); !fault.empty()) return fault;
  }
  return "";
}

TEST(Elements, AreFoldedInTheOrderOfRanksByEveryAlgorithmUpToTheLimit) {
  for (const int ranks : {2, 3, 5})
    for (const char* name : {"", "flat", "blocks", "pairs", "stream"}) {
      std::vector<std::pair<std::string, std::string>> variables;
      for (const coll::Kind kind : {coll::Kind::allreduce, coll::Kind::reduce, coll::Kind::reduce_scatter_block})
        if (shm::find_algorithm(kind, name) != nullptr) {
          std::string variable = fmt::format("SUMAC_SHM_{}", to_string(kind));
          for (char& letter : variable) letter = static_cast<char>(std::toupper(letter));
          variables.emplace_back(variable, name);
        }
      const auto places = places_of(1, 1, ranks);
      const auto options = options_with(variables);
      EXPECT_EQ("", as_threads(ranks, 77,
                               [&](World& world) -> std::string {
                                 sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                                 if (team == nullptr) return world.why;
                                 if (sumac_team_keeps_order(team) != 1) return "does not keep the order";
                                 std::string fault = reduce_all(world, team);
                                 world.meet();
                                 sumac_team_destroy(team);
                                 return fault;
                               }))
          << ranks << " ranks by " << name;
    }
}

TEST(Elements, OnlyATeamWhoseRanksMeetAtOnceKeepsTheOrder) {
  struct Case {
    int hosts, sockets;
    const char* levels;
    int keeps;
  };
  for (const Case& each :
       {Case{1, 1, "auto", 1}, Case{1, 2, "auto", 0}, Case{1, 2, "never", 1}, Case{2, 1, "auto", 0}}) {
    const auto places = places_of(each.hosts, each.sockets, 2);
    const auto options = options_with({{"SUMAC_TEAM_LEVELS", each.levels}});
    EXPECT_EQ("", as_threads(static_cast<int>(places.size()), 78,
                             [&](World& world) -> std::string {
                               sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                               if (team == nullptr) return world.why;
                               const int keeps = sumac_team_keeps_order(team);
                               world.meet();
                               sumac_team_destroy(team);
                               return keeps == each.keeps ? "" : fmt::format("answer {}", keeps);
                             }))
        << each.hosts << " hosts, " << each.sockets << " sockets, levels " << each.levels;
  }
}

TEST(Elements, AFunctionOfTheProgramIsNeverCalledByAHelper) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 79, [&](World& world) -> std::string {
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              sumac_fold_t fold;
              if (sumac_fold_custom(&fold, sizeof(Map), compose, nullptr) != SUMAC_TEAM_OK) return "no fold";
              fold.in_mpi = 1;
              const Map mine = map_of(world.rank, 0);
              Map out{};
              sumac_call_t call{};
              call.coll = SUMAC_COLL_ALLREDUCE;
              call.in = &mine;
              call.out = &out;
              call.bytes = sizeof out;
              call.fold = &fold;
              sumac_op_t* op = nullptr;
              if (sumac_team_post(team, &call, nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "post";
              world.meet();
              int ended = 0;
              for (int i = 0; i < 500; ++i) ended += sumac_team_progress_apart(team);
              std::string fault = ended == 0 ? "" : "the helper has ended it";
              if (sumac_team_awaits(team) != SUMAC_AWAITS_MPI) fault += "it does not await MPI";
              world.meet();
              while (sumac_op_test(op) == SUMAC_TEAM_PENDING) ::sched_yield();
              const Map first = map_of(0, 0), second = map_of(1, 0);
              if (out.a != first.a * second.a) fault += "wrong result";
              sumac_op_free(op);
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

TEST(Elements, AreAtLeastOneCacheLineAndSmallerWhereMemoryIs) {
  using coll::Kind;
  EXPECT_EQ(shm::element_bytes_max(Kind::allreduce, 4, std::size_t{1} << 20), 8192U);
  EXPECT_EQ(shm::element_bytes_max(Kind::reduce, 4, std::size_t{16} << 10), 1024U);
  EXPECT_EQ(shm::element_bytes_max(Kind::reduce_scatter_block, 4, std::size_t{1} << 20), 2048U);
  EXPECT_EQ(shm::element_bytes_max(Kind::reduce_scatter_block, 256, std::size_t{16} << 10), 64U);
  EXPECT_EQ(shm::element_bytes_max(Kind::allreduce, 2, 0), 8192U);
}

}  // namespace
}  // namespace sumac::team
