// Whole teams: every collective is compared with a plain reference, over layouts that this machine does not have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shm/test_exercise.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Ask;

using shm::Exercise;

/// Reductions whose result does not depend on the order: several levels do not keep the order of ranks.
constexpr std::size_t kExact[] = {0, 3, 5, 6};

Ask random_ask(Random& shared, int size, std::size_t bytes_max) {
  Ask ask;
  ask.kind = static_cast<coll::Kind>(shared.below(coll::kKinds));
  // Small sizes, sizes around a chunk, and any size.
  const std::uint64_t kind = shared.below(4);
  ask.bytes = kind == 0 ? shared.below(5) * 8 : kind == 1 ? 1000 + shared.below(60) : shared.below(bytes_max);
  ask.bytes = ask.bytes / 8 * 8;
  ask.root = static_cast<int>(shared.below(static_cast<std::uint64_t>(size)));
  ask.in_place = shared.below(4) == 0;
  ask.reduction = kExact[shared.below(std::size(kExact))];
  ask.seed = shared.next();
  return ask;
}

struct Shapes {
  const char* name;
  int hosts, sockets, cores;
  bool cyclic;
  const char* sbgp;
  const char* steps;
};
constexpr Shapes kShapes[] = {
    {"one host", 1, 1, 4, false, "", "auto"},
    {"two sockets", 1, 2, 3, false, "", "always"},
    {"three levels", 2, 2, 2, false, "", "always"},
    {"hosts and leaders", 2, 1, 3, false, "basesmuma,p2p", "auto"},
    {"hosts in turn", 3, 1, 2, true, "", "auto"},
    {"multi-channel", 2, 2, 2, false, "basesmsocket,p2p", "auto"},
    {"multi-channel on one host", 1, 2, 2, false, "basesmsocket,p2p", "auto"},
    {"sockets in turn, each with a leader", 2, 2, 2, true, "basesmsocket,p2p", "auto"},
    {"p2p alone", 2, 2, 1, false, "p2p", "auto"},
    {"hosts of four, one and three ranks", 0, 0, 0, false, "", "auto"},
};

std::vector<sumac_place_t> places_for(const Shapes& shape) {
  if (shape.hosts > 0) return places_of(shape.hosts, shape.sockets, shape.cores, shape.cyclic);
  std::vector<sumac_place_t> places;
  for (const int host : {0, 1, 0, 0, 2, 0, 2, 2}) places.push_back({host, 0, 0, static_cast<int>(places.size())});
  return places;
}

class Collectives : public testing::TestWithParam<std::size_t> {};

TEST_P(Collectives, BlockingNonblockingAndPersistentGiveWhatTheReferenceGives) {
  const Shapes& shape = kShapes[GetParam() / 2];
  const bool by_tree = GetParam() % 2 == 0;
  const auto places = places_for(shape);
  const auto options = options_with({{"HCOLL_SBGP", shape.sbgp},
                                     {"SUMAC_TEAM_LEVELS", shape.steps},
                                     {"SUMAC_TEAM_CHUNK", "1k"},
                                     {"SUMAC_TEAM_DEPTH", "3"},
                                     {"SUMAC_TEAM_ALLTOALL_MAX", "800"}});
  const std::uint64_t seed = 2000 + GetParam();
  EXPECT_EQ("", as_threads(static_cast<int>(places.size()), seed,
                           [&](World& world) -> std::string {
                             // Use the tree also where every rank is a leader; MPI's own collectives would not be used
                             // there.
                             if (by_tree) world.across.has_tree = true;
                             sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                             if (team == nullptr) return world.why;
                             Random shared(seed);
                             std::size_t passed = 0;
                             for (int i = 0; i < 120; ++i) {
                               // Now and then several operations run at once, and are waited for in any order.
                               const std::size_t together = i % 5 == 0 ? 1 + shared.below(6) : 1;
                               const std::uint64_t form = together > 1 ? 1 : shared.below(3);
                               std::vector<std::unique_ptr<Exercise>> exercises;
                               std::vector<sumac_op_t*> ops;
                               for (std::size_t k = 0; k < together; ++k) {
                                 exercises.push_back(std::make_unique<Exercise>(random_ask(shared, world.size, 9000),
                                                                                world.size, world.rank));
                                 const Exercise& exercise = *exercises.back();
                                 sumac_op_t* op = nullptr;
                                 int rc = 0;
                                 if (form == 0) {
                                   rc = sumac_team_run(team, c_call(exercise));
                                 } else if (form == 1) {
                                   rc = sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op);
                                 } else if ((rc = sumac_op_create(team, c_call(exercise), nullptr, nullptr, &op)) ==
                                            SUMAC_TEAM_OK) {
                                   rc = i % 2 == 0 ? sumac_op_begin(op) : sumac_op_start(op);
                                 }
                                 if (rc == SUMAC_TEAM_PASS) {
                                   ++passed;
                                   exercises.pop_back();
                                   continue;
                                 }
                                 if (rc != SUMAC_TEAM_OK)
                                   return fmt::format("answer {}: {}", rc, sumac_team_error(team));
                                 if (op != nullptr) ops.push_back(op);
                               }
                               for (std::size_t k = ops.size(); k-- > 0;) {
                                 int rc = SUMAC_TEAM_PENDING;
                                 while ((rc = sumac_op_test(ops[k])) == SUMAC_TEAM_PENDING) ::sched_yield();
                                 if (rc != SUMAC_TEAM_OK)
                                   return fmt::format("answer {}: {}", rc, sumac_team_error(team));
                                 sumac_op_free(ops[k]);
                               }
                               for (const auto& exercise : exercises)
                                 if (const auto fault = exercise->check(); !fault.empty())
                                   return fmt::format("{}: {}", i, fault);
                             }
                             sumac_counts_t counts;
                             sumac_team_counts(team, &counts);
                             std::uint64_t counted = 0;
                             for (const auto& ways : counts.calls) counted += ways[SUMAC_WAY_PASS];
                             if (counted != passed) return fmt::format("{} passed, but {} counted", passed, counted);
                             world.meet();
                             sumac_team_destroy(team);
                             return "";
                           }))
      << shape.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Collectives, testing::Range<std::size_t>(0, 2 * std::size(kShapes)));

TEST(Team, ChunksOfALargeCollectiveOverlapBetweenHosts) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}, {"SUMAC_TEAM_DEPTH", "4"}});
  EXPECT_EQ("", as_threads(4, 5, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 20000, .seed = 3}, 4, world.rank);
              if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_OK) return sumac_team_error(team);
              int me = 0;
              if (sumac_team_leaders(team, &me) != 2) return "not two leaders";
              if (me >= 0 && world.across.most_in_flight != 4)
                return fmt::format("{} chunks in flight", world.across.most_in_flight);
              world.meet();
              sumac_team_destroy(team);
              return exercise.check();
            }));
}

TEST(Team, ALeaderSleepsOnTheWayAcrossInBlockingCallsAlone) {
  const auto places = places_of(2, 1, 2);
  EXPECT_EQ("", as_threads(4, 7, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 200;  // Many more polls than a waiting leader does before it sleeps.
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const bool leads = world.rank % 2 == 0;
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              sumac_op_t* op = nullptr;
              if (sumac_team_post(team, &barrier, nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "post";
              while (sumac_op_test(op) == SUMAC_TEAM_PENDING) ::sched_yield();
              sumac_op_free(op);
              if (world.across.sleeps != 0) return "slept in a test of a nonblocking operation";
              if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return "run";
              if ((world.across.sleeps > 0) != leads) return fmt::format("slept {} times", world.across.sleeps);
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, WhoMovesPostedOperationsMaySleepOnTheWayAcross) {
  const auto places = places_of(2, 1, 2);
  EXPECT_EQ("", as_threads(4, 11, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 200;
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const bool leads = world.rank % 2 == 0;
              if (sumac_team_sleep(team, 50)) return "slept with nothing posted";
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              sumac_op_t* op = nullptr;
              if (sumac_team_post(team, &barrier, nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "post";
              int slept = 0;
              while (sumac_op_test(op) == SUMAC_TEAM_PENDING) {
                if (sumac_team_sleep(team, 50))
                  ++slept;
                else
                  ::sched_yield();
              }
              sumac_op_free(op);
              if (slept != world.across.sleeps || (slept > 0) != leads) return fmt::format("slept {} times", slept);
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, AWaitForItsOwnHostAloneSleepsOnNothing) {
  const auto places = places_of(1, 1, 2);
  EXPECT_EQ("", as_threads(2, 12, [&](World& world) -> std::string {
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              sumac_op_t* op = nullptr;
              if (sumac_team_post(team, &barrier, nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "post";
              while (sumac_op_test(op) == SUMAC_TEAM_PENDING)
                if (sumac_team_sleep(team, 50)) return "slept";
              sumac_op_free(op);
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, ALeaderWhoseLookingNeverPaysSleepsAtOnce) {
  const auto places = places_of(2, 1, 1);
  EXPECT_EQ("", as_threads(2, 8, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 200;
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              for (int i = 0; i < 20; ++i)
                if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return "run";
              sumac_team_destroy(team);
              std::vector<int> expected(20, 0);
              for (const std::size_t tried : {0, 1, 2, 3, 19}) expected[tried] = static_cast<int>(waits::kLeader.looks);
              return world.across.looks == expected ? "" : fmt::format("{}", fmt::join(world.across.looks, " "));
            }));
}

TEST(Team, NobodyLooksBetweenTwoSleepsInVain) {
  const auto places = places_of(2, 1, 1);
  EXPECT_EQ("", as_threads(2, 10, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 200;
              world.across.in_vain = 4;
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              for (int i = 0; i < 20; ++i)
                if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return "run";
              sumac_team_destroy(team);
              int before_sleep = 0;
              for (const int looks : world.across.looks) before_sleep += looks;
              const int wakes = world.across.tests - before_sleep, sleeps = world.across.sleeps;
              return sleeps > 0 && sleeps == 5 * wakes ? "" : fmt::format("{} looks in {} sleeps", wakes, sleeps);
            }));
}

TEST(Team, ALeaderDrivesMpiEachMillisecondThatItSleeps) {
  const auto places = places_of(2, 1, 1);
  EXPECT_EQ("", as_threads(2, 9, [&](World& world) -> std::string {
              world.across.has_tree = true;
              world.across.looks_least = 25;  // Five sleeps or more an operation, while polling is still tried.
              world.across.sleeps_really = true;
              const auto options = options_with({});
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const int before = world.hooks;
              const sumac_call_t barrier{.coll = SUMAC_COLL_BARRIER};
              for (int i = 0; i < 6; ++i)
                if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK) return "run";
              sumac_team_destroy(team);
              long slept_us = 0;
              for (const int us : world.across.slept_us) {
                if (us < 1 || us > 1000) return fmt::format("a sleep of {} us", us);
                slept_us += us;
              }
              if (slept_us < 6000) return fmt::format("{} us are no test", slept_us);
              // Each full millisecond ended before some sleep, except the last.
              if (world.hooks - before < slept_us / 1000 - 1)
                return fmt::format("driven {} times in {} us", world.hooks - before, slept_us);
              return "";
            }));
}

TEST(Team, PersistentOperationsStartAgainAndAgain) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "1k"}});
  EXPECT_EQ("", as_threads(4, 6, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              std::int64_t in[400], out[400];
              sumac_fold_t fold;
              if (sumac_fold_standard(&fold, static_cast<int>(Dtype::int64), static_cast<int>(Op::sum),
                                      static_cast<int>(Dtype::null)) != SUMAC_TEAM_OK)
                return "no fold";
              sumac_call_t call{};
              call.coll = SUMAC_COLL_ALLREDUCE;
              call.in = in;
              call.out = out;
              call.bytes = sizeof in;
              call.fold = &fold;
              int done = 0;
              sumac_op_t* op = nullptr;
              const auto note = [](void* user, int status) { *static_cast<int*>(user) += status == SUMAC_TEAM_OK; };
              if (sumac_op_create(team, &call, note, &done, &op) != SUMAC_TEAM_OK) return "not made";
              if (sumac_op_test(op) != SUMAC_TEAM_OK) return "an operation that was never started is not done";
              for (int round = 0; round < 50; ++round) {
                for (int i = 0; i < 400; ++i) in[i] = round * 1000 + i + world.rank;
                if (sumac_op_start(op) != SUMAC_TEAM_OK) return "not started";
                if (sumac_op_start(op) != SUMAC_TEAM_INVALID && sumac_op_test(op) == SUMAC_TEAM_PENDING)
                  return "started twice";
                if (round % 2 == 0) {
                  while (sumac_op_test(op) == SUMAC_TEAM_PENDING) ::sched_yield();
                } else {
                  sumac_call_t barrier{};  // A blocking collective first finishes the posted ones.
                  if (sumac_team_run(team, &barrier) != SUMAC_TEAM_OK || sumac_team_active(team) != 0)
                    return "still active";
                }
                for (int i = 0; i < 400; ++i)
                  if (out[i] != 4 * (round * 1000 + i) + 6)
                    return fmt::format("round {}, element {}: {}", round, i, out[i]);
              }
              if (done != 50) return fmt::format("{} times done", done);
              sumac_op_free(op);
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, ALargePostedOperationTellsThatItComesForward) {
  const auto places = places_of(1, 1, 2);
  const auto options =
      options_with({{"SUMAC_SHM_BCAST", "stream"}});  // With single copy nothing moves until both ranks have arrived.
  EXPECT_EQ("", as_threads(2, 8, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              Exercise exercise({.kind = coll::Kind::bcast, .bytes = 8 << 20}, 2,
                                world.rank);  // More than there is room for.
              sumac_op_t* op = nullptr;
              const unsigned before = sumac_team_moves(team);
              if (sumac_team_post(team, c_call(exercise), nullptr, nullptr, &op) != SUMAC_TEAM_OK) return "not posted";
              if (world.rank == 0) {
                sumac_team_progress(team);
                const unsigned filled = sumac_team_moves(team);
                if (filled == before) return "the root filled what room there was and did not tell";
                sumac_team_progress(team);
                if (sumac_team_moves(team) != filled) return "nobody has read, and it came forward";
              }
              world.meet();
              while (sumac_op_test(op) == SUMAC_TEAM_PENDING) ::sched_yield();
              sumac_op_free(op);
              if (std::string fault = exercise.check(); !fault.empty()) return fault;
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, BlocksOfAnAlltoallvThatAllGoDirectlyAreNeitherGatheredNorDealt) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({{"SUMAC_TEAM_ALLTOALL_MAX", "64"}});
  EXPECT_EQ("", as_threads(4, 9, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              std::int64_t in[4 * 9], out[4 * 9];
              // Turns of shared memory: one for the local blocks, and one more in each direction in which a leader
              // carries blocks.
              const struct {
                int there, back;  ///< Elements of a block between the hosts, from the first to the second and back.
                std::uint64_t turns;
              } rows[] = {{9, 9, 1}, {8, 8, 3}, {8, 9, 2}, {0, 9, 1}};
              for (const auto& row : rows) {
                const int first = world.rank < 2;
                int to[4], from[4], displacements[4];
                for (int r = 0; r < 4; ++r) {
                  const bool is_near = (r < 2) == (world.rank < 2);
                  to[r] = is_near ? 3 : first ? row.there : row.back;
                  from[r] = is_near ? 3 : first ? row.back : row.there;
                  displacements[r] = 9 * r;
                  for (int i = 0; i < 9; ++i) in[9 * r + i] = 100 * world.rank + 10 * r + i, out[9 * r + i] = -1;
                }
                sumac_call_t call{};
                call.coll = SUMAC_COLL_ALLTOALLV;
                call.in = in;
                call.out = out;
                call.in_blocks = {to, displacements, sizeof in[0]};
                call.out_blocks = {from, displacements, sizeof out[0]};
                const auto taken = [&] {
                  std::uint64_t turns = 0;
                  for (const auto& group : team->groups) turns += group ? group->turning.taken : 0;
                  return turns;
                };
                const std::uint64_t before = taken();
                if (sumac_team_run(team, &call) != SUMAC_TEAM_OK) return sumac_team_error(team);
                const std::uint64_t turns = taken() - before;
                if (turns != row.turns) return fmt::format("{} there, {} back: {} turns", row.there, row.back, turns);
                for (int r = 0; r < 4; ++r)
                  for (int i = 0; i < 9; ++i)
                    if (out[9 * r + i] != (i < from[r] ? 100 * r + 10 * world.rank + i : -1))
                      return fmt::format("{} there, {} back, from {}: element {}", row.there, row.back, r, i);
              }
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

TEST(Team, TakesTwoAllgathersOnOneHostAndOverSeveral) {
  for (const int hosts : {1, 2}) {
    const auto places = places_of(hosts, 1, 4 / hosts);
    const auto options = options_with({});
    EXPECT_EQ("", as_threads(4, 7, [&](World& world) -> std::string {
                sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                if (team == nullptr) return world.why;
                if (world.allgathers != 2) return fmt::format("{} allgathers", world.allgathers);
                world.meet();
                sumac_team_destroy(team);
                return "";
              }));
  }
}

TEST(Team, RanksWithOtherOptionsGetNoTeamAndOneReason) {
  const auto places = places_of(1, 1, 3);
  const auto usual = options_with({}), other = options_with({{"SUMAC_TEAM_DEPTH", "2"}});
  EXPECT_EQ("", as_threads(3, 8, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(world.rank == 2 ? other : usual)));
              if (team != nullptr) return "there is a team";
              return world.why.starts_with("rank 2 has other HCOLL_*") ? "" : world.why;
            }));
}

TEST(Team, WhereTheLeadersFindNoWayThereIsNoTeam) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({});
  EXPECT_EQ("", as_threads(4, 9, [&](World& world) -> std::string {
              world.refuse_across = world.rank == 2;
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team != nullptr) return "there is a team";
              return world.why == "rank 2: could not connect the leaders of the hosts" ? "" : world.why;
            }));
}

TEST(Team, AnOfferThatComesToNothingIsDroppedAtEveryRank) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({}), others = options_with({{"SUMAC_TEAM_CHUNK", "3k"}});
  EXPECT_EQ("", as_threads(4, 9, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(world.rank == 2 ? others : options)));
              if (team != nullptr) return "there is a team";
              return world.dropped_offers == 1 ? ""
                                               : fmt::format("{} offers dropped: {}", world.dropped_offers, world.why);
            }));
}

/// Counts the mappings of segments only, because an allocator's own come and go.
std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t found = 0;
  for (std::string line; std::getline(maps, line);)
    found += line.find("memfd:") != std::string::npos || line.find("/dev/shm/") != std::string::npos;
  return found;
}

TEST(Team, ThousandsComeAndGoAndLeaveNothing) {
  const auto places = places_of(1, 2, 1);
  const auto options = options_with({});
  const auto texts = as_processes(2, 11, [&](World& world) -> std::string {
    const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
    std::ptrdiff_t descriptors_before = 0;
    std::size_t maps_before = 0;
    std::vector<sumac_team_t*> living;
    for (int i = 0; i < 1500; ++i) {
      sumac_team_t* team = world.create(world.spec(places, as_c(options)));
      if (team == nullptr) return world.why;
      Exercise exercise({.kind = coll::Kind::allreduce, .bytes = 8, .seed = static_cast<std::uint64_t>(i)}, 2,
                        world.rank);
      if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_OK) return sumac_team_error(team);
      if (const auto fault = exercise.check(); !fault.empty()) return fault;
      living.push_back(team);
      if (living.size() < 8) continue;
      // Each rank destroys them in another order.
      const std::size_t gone = static_cast<std::size_t>(i * (world.rank == 0 ? 3 : 5)) % living.size();
      sumac_team_destroy(living[gone]);
      living.erase(living.begin() + static_cast<std::ptrdiff_t>(gone));
      if (i == 20) {
        // A rank that has waited for long asks whether the other one is alive and keeps a descriptor for that: do so
        // now, not at some later time.
        if (living.back()->island_group->look_for_dead() != Errc::ok) return "the other one is alive";
        descriptors_before = descriptors();
        maps_before = mapped_segments();
      }
    }
    if (descriptors() != descriptors_before)
      return fmt::format("{} descriptors, once {}", descriptors(), descriptors_before);
    if (mapped_segments() != maps_before || maps_before == 0)
      return fmt::format("{} mappings, once {}", mapped_segments(), maps_before);
    for (auto* team : living) sumac_team_destroy(team);
    return "";
  });
  for (const auto& text : texts) EXPECT_EQ("", text);
}

TEST(Team, ProcessesShareItsMemoryToo) {
  const auto places = places_of(2, 2, 2);
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "2k"}, {"SUMAC_SHM_BACKING", "devshm"}});
  const auto texts = as_processes(8, 12, [&](World& world) -> std::string {
    sumac_team_t* team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    Random shared(12);
    for (int i = 0; i < 60; ++i) {
      Exercise exercise(random_ask(shared, 8, 9000), 8, world.rank);
      const int rc = sumac_team_run(team, c_call(exercise));
      if (rc == SUMAC_TEAM_PASS) continue;
      if (rc != SUMAC_TEAM_OK) return sumac_team_error(team);
      if (const auto fault = exercise.check(); !fault.empty()) return fault;
    }
    world.meet();
    sumac_team_destroy(team);
    return "";
  });
  for (const auto& text : texts) EXPECT_EQ("", text);
}

}  // namespace
}  // namespace sumac::team
