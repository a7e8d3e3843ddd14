// Shared memory and the next module are compared in a program's own calls; here time is counted by the test.
#include "team/comparison.hpp"

#include <gtest/gtest.h>

#include "base/copy.hpp"
#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using namespace std::chrono_literals;

/// Each look at the clock is `step` later than the last one, so a trial takes one step.
thread_local Duration step{}, since_origin{};
Time counted() {
  since_origin += step;
  return at(since_origin);
}

/// Makes this team compare with a clock that the test counts, also on a machine with fewer processors than ranks.
/// Shared memory has no choice of its own left, unless a test wants it.
void compare_by_test(sumac_team_t* team, Kind kind, bool fixes_stores = true) {
  if (fixes_stores) team->island_group->stores.fix(shm::Stores::kThrough);
  team->compared_from[index_of(kind)] = Comparison::kLeastBytes;
  team->comparison = std::make_unique<Comparison>(counted);
}

struct Times {
  Duration ours, next;
  bool next_fails = false;
};

/// Makes one call; returns 'o' if the team did it, 'n' if the next module did, '!' if a result is wrong.
char call_once(sumac_team_t* team, Kind kind, std::size_t bytes, const Times& times, int rank) {
  shm::Exercise exercise({.kind = kind, .bytes = bytes, .root = 1, .seed = 5}, team->layout.size, rank);
  step = times.ours;
  const int status = sumac_team_run(team, as_c(exercise.operation()));
  if (status == SUMAC_TEAM_OK) return exercise.check().empty() ? 'o' : '!';
  if (status != SUMAC_TEAM_PASS) return '!';
  step = times.next;
  if (!times.next_fails) sumac_team_passed(team);
  return 'n';
}

TEST(Comparison, TheFasterOneServesAfterTheTrialsAndAllRanksAgree) {
  const std::string trials = "oooonnnnnnnnoooo";
  constexpr std::size_t kClear = 8, kClose = 16;  // Trials, where one way is clearly slower and where not.
  const struct {
    const char* name;
    Times times[2];  ///< At each rank: the slower one's time counts.
    std::size_t trials;
    char then;
  } rows[] = {
      {"the next module is faster", {{100us, 50us}, {100us, 50us}}, kClear, 'n'},
      {"shared memory is faster", {{50us, 100us}, {50us, 100us}}, kClear, 'o'},
      {"both are equally good", {{50us, 50us}, {50us, 50us}}, kClose, 'o'},
      {"the next module is not worth a change", {{100us, 99us}, {100us, 99us}}, kClose, 'o'},
      {"the next module is faster at one rank alone", {{100us, 20us}, {100us, 120us}}, kClear, 'o'},
      {"the next module fails", {{100us, 1us, true}, {100us, 1us, true}}, kClear, 'o'},
  };
  const auto options = options_with({});
  const auto places = places_of(1, 1, 2);
  for (const auto& row : rows)
    for (const Kind kind : {Kind::bcast, Kind::allgather, Kind::alltoall, Kind::gather, Kind::scatter}) {
      SCOPED_TRACE(fmt::format("{}, {}", row.name, to_string(kind)));
      EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
                  const auto spec = world.spec(places, as_c(options));
                  sumac_team_t* team = world.create(spec);
                  if (team == nullptr) return world.why;
                  compare_by_test(team, kind);
                  std::string seen;
                  for (std::size_t call = 0; call < row.trials + 20; ++call) {
                    const sumac_call_t barrier{};  // Rooted calls that follow each other are not compared.
                    if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return sumac_team_error(team);
                    seen += call_once(team, kind, 20'000, row.times[world.rank], world.rank);
                  }
                  world.meet();
                  sumac_team_destroy(team);
                  const std::string expected = trials.substr(0, row.trials) + std::string(20, row.then);
                  return seen == expected ? "" : seen + " instead of " + expected;
                }));
    }
}

TEST(Comparison, RootedCallsThatFollowEachOtherAreSharedMemorysWhateverATrialFound) {
  const auto options = options_with({});
  const auto places = places_of(1, 1, 2);
  const Times times{100us, 50us};  // The next module is faster behind a meeting.
  for (const Kind kind : {Kind::bcast, Kind::gather, Kind::scatter}) {
    SCOPED_TRACE(std::string(to_string(kind)));
    EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
                auto spec = world.spec(places, as_c(options));
                spec.threads = 1;
                sumac_team_t* team = world.create(spec);
                if (team == nullptr) return world.why;
                compare_by_test(team, kind);
                const auto barrier = [&](bool posted) {
                  sumac_call_t call{};
                  sumac_op_t* op = nullptr;
                  if (!posted) return sumac_team_run(team, &call);
                  const int rc = sumac_team_post(team, &call, nullptr, nullptr, &op);
                  if (rc == SUMAC_TEAM_OK)
                    sumac_op_free(op);  // The next call finishes it, earlier at one rank than at another.
                  if (world.rank == 1) sumac_team_progress(team);
                  return rc;
                };
                std::string seen, row;
                for (int call = 0; call < 24; ++call) {
                  if (barrier(call >= 12) != SUMAC_TEAM_OK) return sumac_team_error(team);
                  seen += call_once(team, kind, 32'768, times, world.rank);
                }
                for (int call = 0; call < 20; ++call) row += call_once(team, kind, 32'768, times, world.rank);
                const char other = call_once(team, kind, 40'000, times, world.rank);
                world.meet();
                sumac_team_destroy(team);
                if (seen != "oooonnnn" + std::string(16, 'n')) return "behind barriers: " + seen;
                if (row != std::string(20, 'o')) return "in a row: " + row;
                return other == '!' ? "a larger one is wrong" : "";
              }));
  }
}

TEST(Comparison, WaitsUntilSharedMemoryKnowsHowItWrites) {
  if (!kCanCopyPastCaches) GTEST_SKIP() << "there is one way only";
  auto options = options_with({{"SUMAC_SHM_SINGLE_COPY", "0"}});
  options.share = {};
  for (std::size_t cpu = 0; cpu < 2; ++cpu) options.share.allowed.set(cpu);
  EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places_of(1, 1, 2), as_c(options)));
              if (team == nullptr) return world.why;
              compare_by_test(team, Kind::alltoall, false);
              std::string early;
              while (team->island_group->stores.is_open(Kind::alltoall, 20'000))
                early += call_once(team, Kind::alltoall, 20'000, {50us, 100us}, world.rank);
              std::string late;
              for (int call = 0; call < coll::Decision::kTrials; ++call)
                late += call_once(team, Kind::alltoall, 20'000, {50us, 100us}, world.rank);
              world.meet();
              sumac_team_destroy(team);
              if (early.size() < coll::Decision::kTrials / 2 || early.find_first_not_of('o') != std::string::npos)
                return "compared too early: " + early;
              return late.find('n') != std::string::npos ? "" : "never compared: " + late;
            }));
}

/// Shared memory's own trials are made with one kind and size; others are compared meanwhile.
TEST(Comparison, OfOtherKindsThanAreTriedDoesNotWait) {
  auto options = options_with({{"SUMAC_SHM_SINGLE_COPY", "0"}});
  options.share = {};
  for (std::size_t cpu = 0; cpu < 2; ++cpu) options.share.allowed.set(cpu);
  EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places_of(1, 1, 2), as_c(options)));
              if (team == nullptr) return world.why;
              compare_by_test(team, Kind::alltoall, false);
              team->compared_from[index_of(Kind::allreduce)] = SIZE_MAX;
              std::string seen;
              for (int call = 0; call < 2 * coll::Decision::kTrials; ++call) {
                if (call % coll::Decision::kTrials == 0) call_once(team, Kind::allreduce, 20'000, {}, world.rank);
                seen += call_once(team, Kind::alltoall, 20'000, {50us, 100us}, world.rank);
              }
              world.meet();
              sumac_team_destroy(team);
              return seen.find('n') != std::string::npos ? "" : "never compared: " + seen;
            }));
}

TEST(Comparison, OperationsPostedBeforeAreFinishedFirst) {
  const auto options = options_with({});
  const auto places = places_of(1, 1, 2);
  EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
              auto spec = world.spec(places, as_c(options));
              spec.threads = 1;
              sumac_team_t* team = world.create(spec);
              if (team == nullptr) return world.why;
              compare_by_test(team, Kind::alltoall);
              std::string fault;
              for (int call = 0; call < 40 && fault.empty(); ++call) {
                shm::Exercise posted({.kind = Kind::allreduce, .bytes = 800, .seed = 9}, 2, world.rank);
                sumac_op_t* op = nullptr;
                if (sumac_team_post(team, as_c(posted.operation()), nullptr, nullptr, &op) != SUMAC_TEAM_OK)
                  return "post";
                if (call_once(team, Kind::alltoall, 40'000, {50us, 100us}, world.rank) == '!') fault = "alltoall";
                while (sumac_op_test(op) == SUMAC_TEAM_PENDING) continue;
                if (const auto wrong = posted.check(); !wrong.empty()) fault = wrong;
                sumac_op_free(op);
              }
              world.meet();
              sumac_team_destroy(team);
              return fault;
            }));
}

TEST(Comparison, WhatIsComparedAndWhatIsNot) {
  const struct {
    const char* name;
    std::vector<std::pair<std::string, std::string>> variables;
    Kind kind;
    bool crowded, is_compared;
  } rows[] = {
      {"a collective that moves data", {}, Kind::alltoall, false, true},
      {"a sum, which may have other bits", {}, Kind::allreduce, false, false},
      {"a v-form, whose size is not the same at all ranks", {}, Kind::alltoallv, false, false},
      {"more ranks than processors", {}, Kind::alltoall, true, false},
      {"a user who does not want it", {{"SUMAC_TEAM_STEP_ASIDE", "0"}}, Kind::alltoall, false, false},
      {"a user who names an algorithm", {{"SUMAC_SHM_ALLTOALL", "exchange"}}, Kind::alltoall, false, false},
      {"the same user's other collectives", {{"SUMAC_SHM_ALLTOALL", "exchange"}}, Kind::bcast, false, true},
  };
  const auto places = places_of(1, 1, 2);
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto options = options_with(row.variables);
    options.share = {};
    for (std::size_t cpu = 0; cpu < (row.crowded ? 1 : 2); ++cpu) options.share.allowed.set(cpu);
    EXPECT_EQ("", as_threads(2, 3, [&](World& world) -> std::string {
                const auto spec = world.spec(places, as_c(options));
                sumac_team_t* team = world.create(spec);
                if (team == nullptr) return world.why;
                const std::size_t from = team->compared_from[index_of(row.kind)];
                world.meet();
                sumac_team_destroy(team);
                return (from == Comparison::kLeastBytes) == row.is_compared ? "" : fmt::format("from {}", from);
              }));
  }
}

TEST(Comparison, ExplainSaysWhatIsKnown) {
  const auto options = options_with({});
  const auto places = places_of(1, 1, 2);
  EXPECT_EQ(
      "", as_threads(2, 3, [&](World& world) -> std::string {
        const auto spec = world.spec(places, as_c(options));
        sumac_team_t* team = world.create(spec);
        if (team == nullptr) return world.why;
        compare_by_test(team, Kind::alltoall);
        const std::string before = explained(team);
        for (int call = 0; call < 20; ++call) call_once(team, Kind::alltoall, 20'000, {100us, 50us}, world.rank);
        const std::string after = explained(team);
        sumac_choice_t choice{};
        sumac_team_choice(team, SUMAC_COLL_ALLTOALL, 20'000, nullptr, &choice);
        world.meet();
        sumac_team_destroy(team);
        for (const auto& [text, needed] :
             {std::pair{before,
                        "16384 to 65536 B        host: all ranks share one memory; or by the next module, if the "
                        "program's own calls are faster by it"},
              std::pair{before, "if the program's own calls are faster by it; calls in a row stay in shared memory"},
              std::pair{after, "16384 to 32768 B        pass: the next module is faster here"},
              std::pair{std::string(choice.reason), "1 KiB took 5120.0 ns, by the next module 2560.0 ns"}})
          if (text.find(needed) == std::string::npos) return fmt::format("\"{}\" is not in:\n{}", needed, text);
        return choice.way == SUMAC_WAY_PASS ? "" : "the choice is not the next module";
      }));
}

TEST(Comparison, OneDecisionForEachPowerOfTwo) {
  EXPECT_EQ(0U, Comparison::class_of(16 * 1024));
  EXPECT_EQ(0U, Comparison::class_of(32 * 1024));
  EXPECT_EQ(1U, Comparison::class_of(32 * 1024 + 1));
  EXPECT_EQ(9U, Comparison::class_of(std::size_t{1} << 40));
}

}  // namespace
}  // namespace sumac::team
