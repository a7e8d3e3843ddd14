// Failures: an operation between hosts that fails, and a rank that is killed. No rank waits for ever, all ranks report
// the same reason, and the team stays broken.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

/// Runs one collective in either form and returns its status.
int do_one(sumac_team_t* team, const Exercise& exercise, bool blocking) {
  if (blocking) return sumac_team_run(team, c_call(exercise));
  sumac_op_t* op = nullptr;
  if (const int rc = sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op); rc != SUMAC_TEAM_OK) return rc;
  int rc = SUMAC_TEAM_PENDING;
  while ((rc = sumac_op_test(op)) == SUMAC_TEAM_PENDING) ::sched_yield();
  sumac_op_free(op);
  return rc;
}

/// Checks that the team is broken for `reason`, and stays so.
std::string broken_for(sumac_team_t* team, const Exercise& exercise, std::string_view reason) {
  if (std::string_view(sumac_team_error(team)).find(reason) == std::string_view::npos) return sumac_team_error(team);
  if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_BROKEN) return "it ran again";
  sumac_op_t* op = nullptr;
  if (sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op) != SUMAC_TEAM_BROKEN) return "it could be posted";
  if (sumac_team_active(team) != 0) return "something is still active";
  return "";
}

TEST(Failure, OfTheWayAcrossIsHeardOnWholeHosts) {
  const auto places = places_of(2, 2, 2);
  for (const bool blocking : {true, false})
    for (const char* steps : {"always", "never"}) {
      const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}, {"SUMAC_TEAM_LEVELS", steps}});
      const auto texts = as_processes(8, 31, [&](World& world) -> std::string {
        world.across.fail_at = 5;  // At both leaders: in the third chunk of the third operation.
        sumac_team_t* team = world.create(world.spec(places, as_c(options)));
        if (team == nullptr) return world.why;
        int rc = SUMAC_TEAM_OK;
        for (int i = 0; i < 4 && rc == SUMAC_TEAM_OK; ++i) {
          const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = i < 2 ? 8u : 5000u, .seed = 1}, 8,
                                  world.rank);
          rc = do_one(team, exercise, blocking);
          if (i < 2 && rc != SUMAC_TEAM_OK) return fmt::format("operation {} failed already", i);
        }
        if (rc != SUMAC_TEAM_BROKEN) return fmt::format("answer {}", rc);
        const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 8, .seed = 1}, 8, world.rank);
        const auto fault = broken_for(team, exercise, "the network is gone");
        sumac_team_destroy(team);  // Even while chunks are between the hosts.
        return fault;
      });
      for (const auto& text : texts) EXPECT_EQ("", text);
    }
}

TEST(Failure, AKilledRankIsNamedAtAllOthersOfItsHost) {
  const struct {
    const char* name;
    const char* steps;
    coll::Kind coll;
    std::size_t bytes;
  } rows[] = {{"at once", "never", coll::Kind::allreduce, 8},
              {"domain by domain", "always", coll::Kind::barrier, 0},
              {"domain by domain, large", "always", coll::Kind::bcast, 3000},
              {"from each to each", "never", coll::Kind::alltoall, 64}};
  const auto places = places_of(1, 2, 2);
  for (const auto& row : rows)
    for (const bool blocking : {true, false}) {
      SCOPED_TRACE(fmt::format("{}, {}", row.name, blocking ? "blocking" : "nonblocking"));
      const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}, {"SUMAC_TEAM_LEVELS", row.steps}});
      const auto texts = as_processes(4, 32, [&](World& world) -> std::string {
        sumac_team_t* team = world.create(world.spec(places, as_c(options)));
        if (team == nullptr) return world.why;
        const Exercise exercise({.kind = row.coll, .bytes = row.bytes, .root = 3, .seed = 1}, 4, world.rank);
        if (const int rc = do_one(team, exercise, blocking); rc != SUMAC_TEAM_OK) return fmt::format("answer {}", rc);
        world.meet();
        if (world.rank == 3) ::raise(SIGKILL);  // All others wait for it.
        if (const int rc = do_one(team, exercise, blocking); rc != SUMAC_TEAM_BROKEN)
          return fmt::format("answer {}", rc);
        const auto fault = broken_for(team, exercise, "rank 3");
        sumac_team_destroy(team);
        return fault;
      });
      for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ("", texts[r]) << "rank " << r;
      EXPECT_EQ("signal 9", texts[3]);
    }
}

TEST(Failure, ADeadRankIsToldToTheOtherHosts) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({});
  for (const bool blocking : {true, false}) {
    const auto texts = as_processes(4, 38, [&](World& world) -> std::string {
      world.across.has_tree = true;
      sumac_team_t* team = world.create(world.spec(places, as_c(options)));
      if (team == nullptr) return world.why;
      world.meet();
      if (world.rank == 1) ::raise(SIGKILL);
      if (world.rank != 0) return "";
      const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 8, .seed = 1}, 4, world.rank);
      if (const int rc = do_one(team, exercise, blocking); rc != SUMAC_TEAM_BROKEN) return fmt::format("answer {}", rc);
      if (world.across.given_up_for != 1) return fmt::format("told {}", world.across.given_up_for.value_or(-2));
      const auto fault = broken_for(team, exercise, "rank 1");
      sumac_team_destroy(team);
      return fault;
    });
    EXPECT_EQ(texts[0], "");
  }
}

/// Creates a team of two hosts, on the first of which rank 1 dies with its part of an allreduce given, or before a broadcast from the
/// other host. Returns what is wrong: the operations go on between the hosts while their leader could look for dead ranks again and again.
std::string survive_rank_1(World& world, const Exercise& exercise, bool has_tree, bool blocking) {
  const auto options = options_with({});
  world.across.has_tree = has_tree;
  world.across.looks_least = 5'000;
  sumac_team_t* team = world.create(world.spec(places_of(2, 1, 2), as_c(options)));
  if (team == nullptr) return world.why;
  sumac_op_t* op = nullptr;
  if (world.rank == 1) {
    if (exercise.operation().kind == coll::Kind::allreduce &&
        (sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op) != SUMAC_TEAM_OK ||
         sumac_op_test(op) != SUMAC_TEAM_PENDING))
      return "its part is not given";
    ::raise(SIGKILL);
  }
  while (world.rank == 0 && !sumac_team_is_dead(team, 1)) ::sched_yield();
  // Behind it waits one to which the dead rank gives nothing.
  const Exercise next({.kind = coll::Kind::barrier, .seed = 1}, 4, world.rank);
  if (blocking) {
    if (const int rc = do_one(team, exercise, true); rc != SUMAC_TEAM_OK) return fmt::format("answer {}", rc);
  } else {
    sumac_op_t* behind = nullptr;
    if (sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "not posted";
    if (world.rank == 0 && sumac_team_post(team, c_call(next), nullptr, nullptr, &behind) != SUMAC_TEAM_OK)
      return "the next one is not posted";
    int rc = SUMAC_TEAM_PENDING;
    while ((rc = sumac_op_test(op)) == SUMAC_TEAM_PENDING) ::sched_yield();
    if (rc != SUMAC_TEAM_OK) return fmt::format("answer {}: {}", rc, sumac_team_error(team));
    while (behind != nullptr && (rc = sumac_op_test(behind)) == SUMAC_TEAM_PENDING) ::sched_yield();
    if (behind != nullptr && rc != SUMAC_TEAM_BROKEN) return fmt::format("the next one's answer {}", rc);
  }
  if (const auto fault = exercise.check(); !fault.empty()) return fault;
  if (world.rank != 0) return "";
  if (const int rc = do_one(team, next, true); rc != SUMAC_TEAM_BROKEN) return fmt::format("then {}", rc);
  if (has_tree && world.across.given_up_for != 1) return fmt::format("told {}", world.across.given_up_for.value_or(-2));
  return broken_for(team, exercise, "rank 1");
}

TEST(Failure, ALeaderWhoseRankDiesHasTheResultThatTheOtherHostsHave) {
  const struct {
    coll::Kind kind;
    std::size_t bytes;
  } rows[] = {{coll::Kind::allreduce, 8}, {coll::Kind::bcast, 50'000}};
  for (const auto& row : rows)
    for (const bool has_tree : {true, false})
      for (const bool blocking : {true, false}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", to_string(row.kind), has_tree ? "tree" : "MPI",
                                 blocking ? "blocking" : "posted"));
        const auto texts = as_processes(4, 40, [&](World& world) {
          const Exercise exercise({.kind = row.kind, .bytes = row.bytes, .root = 2, .seed = 1}, 4, world.rank);
          return survive_rank_1(world, exercise, has_tree, blocking);
        });
        for (const std::size_t rank : {0u, 2u, 3u}) EXPECT_EQ("", texts[rank]) << "rank " << rank;
      }
}

/// MPI does not notice that the other host never comes.
TEST(Failure, AMemberThatTheTreeHasLostEndsWhatMpiCarries) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({});
  for (const bool blocking : {true, false})
    EXPECT_EQ("", as_threads(4, 39, [&](World& world) -> std::string {
                world.across.has_tree = true;
                world.across.tree_max = 8;
                world.across.lost_after = 5;
                sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                if (team == nullptr) return world.why;
                const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 4096, .seed = 1}, 4, world.rank);
                std::string fault;
                if (world.rank < 2) {
                  const int rc = do_one(team, exercise, blocking);
                  fault = rc == SUMAC_TEAM_BROKEN ? broken_for(team, exercise, "the network is gone")
                                                  : fmt::format("answer {}", rc);
                }
                world.meet();
                sumac_team_destroy(team);
                return fault;
              }));
}

/// A process whose files may not grow cannot make shared memory, neither a memfd nor a file.
TEST(Failure, WithoutMemoryThereIsNoTeamAndEverybodyKnowsWhy) {
  const auto places = places_of(1, 1, 3);
  const auto options = options_with({});
  const auto texts = as_processes(3, 35, [&](World& world) -> std::string {
    const rlimit small{4096, 4096};
    if (world.rank == 0 && ::setrlimit(RLIMIT_FSIZE, &small) != 0) return "no limit";
    if (world.create(world.spec(places, as_c(options))) != nullptr) return "there is a team";
    return world.why;
  });
  for (const auto& text : texts) {
    EXPECT_EQ(text, texts[0]) << "all ranks give the same reason";
    EXPECT_TRUE(text.starts_with("no shared memory: rank 0: ")) << text;
    EXPECT_NE(text.find("goes on without"), std::string::npos) << text;
  }
}

TEST(Failure, DestroyedWithOperationsPosted) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 33, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 8, .seed = 1}, 2, world.rank);
              sumac_op_t* op[3] = {};
              if (world.rank == 0)  // Rank 1 never joins.
                for (auto& one : op)
                  if (sumac_team_post(team, c_call(exercise), nullptr, nullptr, &one) != SUMAC_TEAM_OK)
                    return "not posted";
              if (world.rank == 0 && (sumac_op_test(op[1]) != SUMAC_TEAM_PENDING || sumac_team_active(team) != 3))
                return "not pending";
              if (world.rank == 0) sumac_op_free(op[2]);
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Failure, ACallersOwnReasonIsHeardOnTheWholeHost) {
  const auto places = places_of(1, 1, 3);
  const auto options = options_with({});
  for (const bool blocking : {true, false}) {
    const auto texts = as_processes(3, 36, [&](World& world) -> std::string {
      sumac_team_t* team = world.create(world.spec(places, as_c(options)));
      if (team == nullptr) return world.why;
      const Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 8, .seed = 1}, 3, world.rank);
      const bool is_well = sumac_team_check(team) == SUMAC_TEAM_OK;
      world.meet();  // Nobody breaks it before all have looked.
      if (!is_well) return "broken at first";
      if (world.rank == 2) {
        sumac_team_break(team, "rank 2 has waited long enough");
        sumac_team_break(team, "a second reason");
        if (sumac_team_check(team) != SUMAC_TEAM_BROKEN) return "not broken";
      } else if (const int rc = do_one(team, exercise, blocking); rc != SUMAC_TEAM_BROKEN) {
        return fmt::format("answer {}", rc);
      }
      const auto fault = broken_for(team, exercise, "rank 2 has waited long enough");
      world.meet();
      sumac_team_destroy(team);
      return fault;
    });
    for (const auto& text : texts) EXPECT_EQ("", text);
  }
}

TEST(Failure, ARankThatDiesBetweenOperationsIsFoundByACheck) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  const auto texts = as_processes(2, 37, [&](World& world) -> std::string {
    sumac_team_t* team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    world.meet();
    if (world.rank == 1) ::raise(SIGKILL);
    while (sumac_team_check(team) == SUMAC_TEAM_OK) ::sched_yield();
    return sumac_team_error(team);
  });
  EXPECT_NE(texts[0].find("rank 1"), std::string::npos) << texts[0];
}

TEST(Failure, ACallThatBreaksARuleStartsNothing) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(2, 34, [&](World& world) -> std::string {
              auto spec = world.spec(places, as_c(options));
              sumac_team_t* team = nullptr;
              spec.struct_bytes = 8;
              if (sumac_team_create(&spec, &team, nullptr, 0) != SUMAC_TEAM_INVALID) return "a spec of another version";
              team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              sumac_call_t call{};
              call.coll = SUMAC_COLLS;
              sumac_op_t* op = nullptr;
              if (sumac_team_run(team, &call) != SUMAC_TEAM_INVALID) return "an unknown collective ran";
              if (sumac_op_create(team, &call, nullptr, nullptr, &op) != SUMAC_TEAM_INVALID) return "or was made";
              sumac_fold_t fold;
              if (sumac_fold_standard(&fold, static_cast<int>(Dtype::float32), static_cast<int>(Op::bor),
                                      static_cast<int>(Dtype::null)) != SUMAC_TEAM_INVALID)
                return "float | float";
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

}  // namespace
}  // namespace sumac::team
