// Explain's text for users: a team's choices, the refused ones, and the reasons.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "shm/test_exercise.hpp"
#include "shm/test_filter.hpp"
#include "team/printed_tables.hpp"
#include "team/team.hpp"
#include "team/test_world.hpp"

namespace sumac::team {
namespace {

using shm::Exercise;

TEST(Explain, NamesEveryCollectiveAndWhy) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({{"HCOLL_ML_DISABLE_BCAST", "1"}});
  EXPECT_EQ("", as_threads(4, 10, [&](World& world) -> std::string {
              sumac_team_t* team = world.create(world.spec(places, as_c(options)));
              if (team == nullptr) return world.why;
              const std::string text = explained(team);
              for (const char* needed : {"communicator test: 4 ranks on 2 hosts", "barrier", "allreduce", "alltoallv",
                                         "switched off by HCOLL_ML_DISABLE_<COLL>", "leaders: shared memory inside",
                                         "one message for each pair of hosts, by their leaders",
                                         "large blocks over several hosts: leaders would move more"})
                if (text.find(needed) == std::string::npos) return fmt::format("\"{}\" is not in:\n{}", needed, text);
              sumac_choice_t choice;
              sumac_team_choice(team, SUMAC_COLL_ALLTOALL, 8, nullptr, &choice);
              if (choice.way != SUMAC_WAY_LEADERS) return choice.reason;
              sumac_team_choice(team, SUMAC_COLL_ALLTOALL, 1 << 20, nullptr, &choice);
              if (choice.way != SUMAC_WAY_PASS) return choice.reason;
              sumac_team_choice(team, SUMAC_COLL_BARRIER, 0, nullptr, &choice);
              if (choice.way != SUMAC_WAY_LEADERS || choice.how[0] == '\0') return choice.reason;
              world.meet();
              sumac_team_destroy(team);
              return "";
            }));
}

std::string printed_text(const sumac_team_t* team) {
  const std::unique_ptr<char, decltype(&std::free)> text{sumac_team_explain(team), &std::free};
  return text.get();
}

TEST(Explain, AnEqualTableIsPrintedOnce) {
  const auto places = places_of(1, 1, 2);
  const auto usual = options_with({});
  const auto other = options_with({{"HCOLL_ML_DISABLE_BCAST", "1"}});
  const std::string line = "2 ranks on 1 host: choices as printed for communicator ";
  const struct {
    const char* name;
    const OptionsHandle& options;
    std::string short_text;  ///< Empty: the table is new.
  } teams[] = {
      {"first", usual, ""},
      {"second", usual, "sumac: communicator second: " + line + "first\n"},
      {"third", other, ""},
      {"", usual, "sumac: communicator without a name: " + line + "first\n"},
      {"fifth", other, "sumac: communicator fifth: " + line + "third\n"},
  };
  // Each rank is a process of its own, with tables of its own.
  const auto texts = as_processes(2, 10, [&](World& world) -> std::string {
    for (const auto& one : teams) {
      auto spec = world.spec(places, as_c(one.options));
      spec.name = one.name;
      sumac_team_t* team = world.create(spec);
      if (team == nullptr) return world.why;
      const std::string text = printed_text(team);
      if (text != (one.short_text.empty() ? explained(team).c_str() : one.short_text)) return text;
      world.meet();
      sumac_team_destroy(team);
    }
    return "";
  });
  for (const auto& text : texts) EXPECT_EQ("", text);
}

TEST(Explain, MoreTablesThanItRemembersArePrintedEachTime) {
  PrintedTables printed;
  const auto table = [](std::size_t i) { return fmt::format("table {}", i); };
  for (std::size_t i = 0; i <= PrintedTables::kCountMax; ++i)
    EXPECT_EQ(printed.same_as("first", table(i)), std::nullopt);
  EXPECT_EQ(printed.same_as("second", table(PrintedTables::kCountMax - 1)), "first");
  EXPECT_EQ(printed.same_as("second", table(PrintedTables::kCountMax)), std::nullopt);
  EXPECT_EQ(printed.same_as("third", table(PrintedTables::kCountMax)), std::nullopt);
}

TEST(Explain, OfThreadsWithOneTableOnePrintsIt) {
  PrintedTables printed;
  std::atomic<int> whole = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] { whole += printed.same_as("any", "the table").has_value() ? 0 : 1; });
  }
  EXPECT_EQ(whole, 1);
}

TEST(Explain, RanksThatCountAsHostsAreOnTheHostsWhereTheyAre) {
  const auto places = places_of(1, 1, 4);
  const auto options = options_with({});
  EXPECT_EQ(
      "", as_threads(4, 10, [&](World& world) -> std::string {
        auto spec = world.spec(places, as_c(options));
        spec.ranks_apart = 1;
        sumac_team_t* team = world.create(spec);
        if (team == nullptr) return world.why;
        const std::string text = explained(team);
        if (!text.starts_with("sumac: communicator test: 4 ranks on 1 host, each as a host of its own: p2p 1 x 4"))
          return text;
        world.meet();
        sumac_team_destroy(team);
        return "";
      }));
}

/// Single copy is used where the system allows it; where it is not wanted, the built-in algorithms serve and a line
/// says so.
TEST(Explain, AForcedAlgorithmIsUsedOrRefusedAloud) {
  const auto places = places_of(1, 1, 3);
  for (const char* wanted : {"1", "0"}) {
    const auto options = options_with(
        {{"SUMAC_SHM_BCAST", "single"}, {"SUMAC_SHM_ALLREDUCE", "flat"}, {"SUMAC_SHM_SINGLE_COPY", wanted}});
    const auto texts = as_processes(3, 13, [&](World& world) -> std::string {
      sumac_team_t* team = world.create(world.spec(places, as_c(options)));
      if (team == nullptr) return world.why;
      for (int i = 0; i < 20; ++i) {
        Exercise exercise({.kind = i % 2 == 0 ? coll::Kind::bcast : coll::Kind::allreduce,
                           .bytes = 40000,
                           .root = i % 3,
                           .seed = static_cast<std::uint64_t>(i)},
                          3, world.rank);
        if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_OK) return sumac_team_error(team);
        if (const auto fault = exercise.check(); !fault.empty()) return fault;
      }
      sumac_choice_t choice;
      sumac_team_choice(team, SUMAC_COLL_ALLREDUCE, 1 << 20, nullptr, &choice);
      if (std::string_view(choice.how) != "flat") return fmt::format("allreduce by {}", choice.how);
      sumac_team_choice(team, SUMAC_COLL_BCAST, 1 << 20, nullptr, &choice);
      const std::string text = explained(team);
      const bool is_refused = text.find("bcast by \"single\" refused") != std::string::npos;
      world.meet();
      sumac_team_destroy(team);
      // Whether the system allows it does not matter here; both sources must agree.
      if (is_refused == (std::string_view(choice.how) == "single")) return text;
      return *wanted == '0' && !is_refused ? "used although it is not wanted" : "";
    });
    for (const auto& text : texts) EXPECT_EQ("", text);
  }
}

/// As in a container: if one rank may not do it, no rank does it, and every rank reports why.
TEST(Explain, SingleCopyThatTheSystemRefusesIsExplained) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({{"SUMAC_SHM_BCAST", "single"}});
  const auto texts = as_processes(2, 14, [&](World& world) -> std::string {
    if (world.rank == 1 && !shm::forbid(shm::kCopiesBetweenProcesses)) return "no seccomp";
    sumac_team_t* team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    std::string text = explained(team);
    Exercise exercise({.kind = coll::Kind::bcast, .bytes = 40000, .root = 1, .seed = 3}, 2, world.rank);
    if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_OK) return sumac_team_error(team);
    if (auto fault = exercise.check(); !fault.empty()) return fault;
    world.meet();
    sumac_team_destroy(team);
    return text;
  });
  if (texts[1] == "no seccomp") GTEST_SKIP() << "this kernel has no seccomp filters";
  for (const auto& text : texts)
    for (const char* needed :
         {"single copy refused: rank 1 may not read and write the memory of rank 0: not permitted",
          "bcast by \"single\" refused: rank 1 may not read and write the memory of rank 0: not permitted"})
      EXPECT_NE(std::string::npos, text.find(needed)) << needed << "\n" << text;
}

/// A pair with a core each, single copy allowed or not, after the trials of alltoall of `decided` bytes.
std::string explained_pair(sumac_team_t* team, std::string no_copy, std::size_t decided) {
  auto& group = *team->island_group;
  team->shape.crowded = team->island_input.crowded = false;
  team->no_copy = std::move(no_copy);
  team->island_input.single_copy = group.turning.single_copy = team->no_copy.empty();
  group.decisions = std::make_unique<shm::Decisions>();
  group.set_tuning(shm::default_tuning(team->island_input));
  if (decided != 0)
    for (auto& decision = group.decisions->at(3, decided); !decision.is_settled();)
      decision.note(decision.way() == shm::kSingle ? 150 : 200);
  return explained(team);
}

TEST(Explain, SaysOfAPairWhichWayLargeMessagesGoAndWhy) {
  const struct {
    const char* name;
    const char* no_copy;
    std::size_t decided;
    std::vector<const char*> needed;
  } rows[] = {
      {"not yet decided",
       "",
       0,
       {"single copy of large messages, by default: perhaps: the first calls of each size go both ways, and the times "
        "decide\n",
        "alltoall              4097 to 65536 B         host: all ranks share one memory; \"exchange\" (everybody "
        "copies "
        "its row in chunk by chunk, and its column out); perhaps by \"single\" from 65537 B on\n",
        "alltoall              from 65537 B            host: all ranks share one memory; \"timed\" (\"exchange\" or "
        "\"single\", by the times of the first calls): the first calls of each size go both ways, and the times "
        "decide\n",
        "alltoallv             any size                host: all ranks share one memory; \"exchange\" (everybody "
        "copies its row in chunk by chunk, and its column out)\n"}},
      {"decided",
       "",
       1 << 20,
       {"alltoall              524289 to 1048576 B     host: all ranks share one memory; \"single\" (everybody reads "
        "everybody's memory; two write; in place \"exchange\"): 1 KiB took by \"exchange\" 200.0 ns, by \"single\" "
        "150.0 ns\n"}},
      {"forbidden", "rank 1 may not", 0, {"by default: no: rank 1 may not\n", "; not by \"single\": rank 1 may not\n"}},
  };
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({{"SUMAC_TEAM_STEP_ASIDE", "0"}});
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ("", as_threads(2, 15, [&](World& world) -> std::string {
                sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                if (team == nullptr) return world.why;
                const std::string text = explained_pair(team, row.no_copy, row.decided);
                world.meet();
                sumac_team_destroy(team);
                for (const char* needed : row.needed)
                  if (text.find(needed) == std::string::npos) return fmt::format("\"{}\" is not in:\n{}", needed, text);
                return "";
              }));
  }
}

TEST(Explain, SaysWhoseChoiceAnAlgorithmIs) {
  const auto places = places_of(1, 1, 3);
  auto options = options_with({{"SUMAC_SHM_ALLREDUCE", "flat"}, {"SUMAC_SHM_SINGLE_COPY", "0"}});
  for (const bool crowded : {false, true})
    options.tuning.choices.push_back(
        {.collective = "bcast", .ranks = 2, .oversubscribed = crowded, .algorithm = "stream"});
  digest(options);
  EXPECT_EQ(
      "", as_threads(3, 16, [&](World& world) -> std::string {
        sumac_team_t* team = world.create(world.spec(places, as_c(options)));
        if (team == nullptr) return world.why;
        const std::string text = explained(team);
        world.meet();
        sumac_team_destroy(team);
        for (const char* needed : {"everybody folds all), as SUMAC_SHM_ALLREDUCE says\n",
                                   "everybody copies out), as measured on this machine\n",
                                   "  large messages are written through the caches: the ranks share processors\n",
                                   "by default: no: SUMAC_SHM_SINGLE_COPY=0\n"})
          if (text.find(needed) == std::string::npos) return fmt::format("\"{}\" is not in:\n{}", needed, text);
        return "";
      }));
}

std::string missing(const std::string& text, std::initializer_list<const char*> needed) {
  for (const char* one : needed)
    if (text.find(one) == std::string::npos) return fmt::format("\"{}\" is not in:\n{}", one, text);
  return "";
}

TEST(Explain, SaysWhyTheTreeIsNotTaken) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({{"SUMAC_TEAM_CHUNK", "2k"}});
  for (const bool has_tree : {true, false}) {
    EXPECT_EQ("", as_threads(4, 17, [&](World& world) -> std::string {
                world.across.has_tree = has_tree;
                world.across.tree_max = 4096;
                sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                if (team == nullptr) return world.why;
                const std::string text = explained(team);
                world.meet();
                sumac_team_destroy(team);
                if (!has_tree) return missing(text, {"  no tree between hosts: there is none\n"});
                return missing(
                    text, {"allreduce             1 to 4096 B             tree: ",
                           "allreduce             from 4097 B             tree: shared memory inside the hosts, the "
                           "aggregation tree between them; in pieces of 2048 B, since as a whole: too large; \"",
                           "allgather             1 to 1024 B             tree: ",
                           "allgather             from 1025 B             leaders: shared memory inside the hosts, the "
                           "MPI's own collective among their leaders; not by the tree: too large; \"",
                           "allreduce, others     1 to 4096 B             leaders: shared memory inside the hosts, the "
                           "MPI's own collective among their leaders; not by the tree: no such type; \""});
              }));
  }
}

TEST(Explain, SaysWhatGoesByTheHopAndWhyNot) {
  const auto places = places_of(2, 1, 2);
  const auto options = options_with({});
  for (const bool has_hop : {true, false}) {
    EXPECT_EQ("", as_threads(4, 19, [&](World& world) -> std::string {
                world.across.has_tree = true;
                world.across.tree_max = 4096;
                if (has_hop) world.across.hop_max = 128;
                if (!has_hop) world.across.no_hop = "SUMAC_COLL_HOP=0";
                sumac_team_t* team = world.create(world.spec(places, as_c(options)));
                if (team == nullptr) return world.why;
                const std::string text = explained(team);
                for (const std::size_t bytes : {8, 128, 136, 8000}) {
                  Exercise exercise({.kind = coll::Kind::allreduce, .bytes = bytes, .seed = 3}, 4, world.rank);
                  if (sumac_team_run(team, c_call(exercise)) != SUMAC_TEAM_OK) return sumac_team_error(team);
                }
                sumac_counts_t counts;
                sumac_team_counts(team, &counts);
                int me = 0;
                sumac_team_leaders(team, &me);
                world.meet();
                sumac_team_destroy(team);
                const std::uint64_t by_hop = has_hop && me >= 0 ? 2 : 0;
                if (counts.hop[SUMAC_COLL_ALLREDUCE] != by_hop)
                  return fmt::format("{} by the hop, not {}", counts.hop[SUMAC_COLL_ALLREDUCE], by_hop);
                if (!has_hop) return missing(text, {"  no hop: SUMAC_COLL_HOP=0\n"});
                if (text.find("no hop:") != std::string::npos) return text;
                return missing(
                    text, {"allreduce             1 to 128 B              tree: shared memory inside the hosts, the "
                           "aggregation tree between them; by the hop; \"",
                           "allreduce             129 to 4096 B           tree: shared memory inside the hosts, the "
                           "aggregation tree between them; not by the hop: too large; \""});
              }));
  }
}

TEST(Explain, SaysWhatSharedMemoryCouldNotBeHad) {
  const auto places = places_of(1, 1, 2);
  const auto options = options_with({});
  const auto texts = as_processes(2, 18, [&](World& world) -> std::string {
    if (world.rank == 0 && !shm::forbid(std::array<unsigned, 1>{SYS_memfd_create})) return "no seccomp";
    sumac_team_t* team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    const std::string text = explained(team);
    world.meet();
    sumac_team_destroy(team);
    if (!world.why.empty()) return world.why;
    if (auto fault =
            missing(text, {"  shared memory: a file in /dev/shm, ",
                           "  memfd refused: rank 0: memfd_create: Operation not permitted; a file in /dev/shm "
                           "instead\n"});
        !fault.empty())
      return fault;
    if (world.rank == 0) (void)shm::forbid(std::array<unsigned, 1>{SYS_fallocate});
    team = world.create(world.spec(places, as_c(options)));
    return team != nullptr ? "there is memory" : world.why;
  });
  if (texts[0] == "no seccomp") GTEST_SKIP() << "this kernel has no seccomp filters";
  for (const auto& text : texts)
    EXPECT_TRUE(
        text.starts_with("no shared memory: rank 0: memfd_create: Operation not permitted; then rank 0: reserve ") &&
        text.ends_with(" KiB in /dev/shm: Operation not permitted; this communicator goes on without"))
        << text;
}

/// As in containers that share only /dev/shm: a death is noticed there as well (src/shm/process_test.cpp), so there is
/// nothing to report.
TEST(Explain, HasNothingToSayOfSeveralPidNamespaces) {
  const auto places = places_of(1, 1, 3);
  const auto options = options_with({{"SUMAC_SHM_BACKING", "devshm"}});
  const auto try_one = [&](World& world) -> std::string {
    sumac_team_t* team = world.create(world.spec(places, as_c(options)));
    if (team == nullptr) return world.why;
    const std::string text = explained(team);
    world.meet();
    sumac_team_destroy(team);
    if (!world.why.empty()) return "said: " + world.why;
    return text.find("namespace") == std::string::npos ? "" : text;
  };
  const auto texts = as_processes(3, 19, [&](World& world) -> std::string {
    // A rank that may not make namespaces tells the others before they wait for each other.
    const bool moves = world.rank == 2;
    if (moves) world.common.notes[0] = ::unshare(CLONE_NEWPID) == 0 ? 1 : 0;
    world.meet();
    if (world.common.notes[0] == 0) return "no namespaces";
    if (!moves) return try_one(world);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(try_one(world).empty() ? 0 : 1);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0 ? ""
                                                                : "the one in another namespace says something else";
  });
  if (texts[0] == "no namespaces") GTEST_SKIP() << "no PID namespaces for this user";
  for (const auto& text : texts) EXPECT_EQ("", text);
}

}  // namespace
}  // namespace sumac::team
