// Large messages: around every edge of a chunk, a slice and a ring of slices; in sequences with small operations and
// ranks that lag behind; with ranks that die in the middle; and by single copy where the system allows it and where it
// does not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <deque>

#include "base/host_name.hpp"
#include "shm/single/cma.hpp"
#include "shm/single/copy.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_filter.hpp"
#include "shm/test_ranks.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {
namespace {

std::string run_one(Group& group, Ask ask) {
  Exercise exercise(ask, group.size(), group.index());
  if (run(group, exercise.operation()) != Errc::ok) return fmt::format("run: {}", group.error());
  return exercise.check();
}

/// Runs every algorithm that the group can use, except the flat ones.
std::string each_large(Group& group, const Tuning& tuning, const std::vector<std::size_t>& sizes) {
  const auto n = static_cast<std::uint64_t>(group.size());
  std::uint64_t seed = 1;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == "flat" || (algorithm.usable != nullptr && !algorithm.usable(group))) continue;
    Tuning forced = tuning;
    if (auto done = forced.force(algorithm.kind, algorithm.name); !done) return done.error().context;
    group.set_tuning(forced);
    for (const std::size_t bytes : sizes) {
      ++seed;
      const Ask ask{.kind = algorithm.kind,
                    .bytes = bytes,
                    .root = static_cast<int>(seed % n),
                    .in_place = seed % 3 == 0,
                    .reduction = seed % std::size(kReductions),
                    .seed = seed};
      if (std::string fault = run_one(group, ask); !fault.empty()) return fmt::format("{}: {}", algorithm.name, fault);
    }
  }
  group.set_tuning(tuning);
  return {};
}

class Large : public testing::TestWithParam<int> {};

TEST_P(Large, IsRightAroundEveryEdge) {
  const int n = GetParam();
  const Shape shape = small_shape(n);
  const auto m = static_cast<std::size_t>(n);
  EXPECT_EQ(
      "", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
        Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
        Tuning tuning = tuning_for(shape, n);
        const std::size_t slice = slice_bytes(group), ring = slices_of(n) * slice;
        // The turns are a whole slice, less than one, and the least; folds are in steps smaller than a turn.
        for (const std::size_t turn : {std::size_t{64 * 1024}, slice / 2, std::size_t{1}}) {
          tuning.large = {
              .reduce_turn_bytes = turn, .stream_turn_bytes = turn, .exchange_turn_bytes = turn, .fold_bytes = 96};
          const std::size_t limit = turn_limit(group, turn), cell = limit / m / kCacheLine * kCacheLine;
          std::vector<std::size_t> sizes = {1, limit + 1, cell, cell + 1, cell * 3 + 17};
          if (turn != 1) sizes.insert(sizes.end(), {slice - 1, slice, ring / 4 + 3, ring + 1});
          if (std::string fault = each_large(group, tuning, sizes); !fault.empty())
            return fmt::format("turns of {}: {}", turn, fault);
        }
        return {};
      }));
}
INSTANTIATE_TEST_SUITE_P(GroupSizes, Large, testing::Values(1, 2, 3, 5, 17));

TEST(LargeSequence, SmallAndLargeFollowEachOtherWhoeverLagsBehind) {
  for (const int n : {2, 3, 6}) {
    SCOPED_TRACE(n);
    const Shape shape = small_shape(n);
    EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
                Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
                Random shared(7), own(static_cast<std::uint64_t>(rank));
                for (int i = 0; i < 250; ++i) {
                  const std::size_t bytes =
                      shared.chance(0.5) ? 8 + shared.below(100) : shared.below(40 * 1024) / 4 * 4;
                  const Ask ask{.kind = static_cast<coll::Kind>(shared.below(coll::kKinds)),
                                .bytes = bytes,
                                .root = static_cast<int>(shared.below(static_cast<std::uint64_t>(n))),
                                .in_place = shared.chance(0.3),
                                .reduction = shared.below(std::size(kReductions)),
                                .seed = shared.next()};
                  Exercise exercise(ask, n, rank);
                  for (std::uint64_t turns = own.chance(0.1) ? own.below(40) : 0; turns > 0; --turns) sched_yield();
                  if (own.chance(0.5)) {  // Driven like a nonblocking call.
                    prepare(group, exercise.operation(), exercise.task);
                    Step step = Step::waiting;
                    while ((step = advance(exercise.task)) == Step::waiting) sched_yield();
                    if (step == Step::failed) return group.error();
                  } else if (run(group, exercise.operation()) != Errc::ok) {
                    return group.error();
                  }
                  if (std::string fault = exercise.check(); !fault.empty())
                    return fmt::format("operation {}: {}", i, fault);
                }
                return {};
              }));
  }
}

TEST(LargeSequence, AnAreaThatIsTooSmallLeavesEverythingToFlat) {
  Shape shape = small_shape(3);
  shape.large_bytes = 0;
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(3), rank, kTestWait, tuning_for(shape, 3));
              for (int c = 0; c < coll::kKinds; ++c) {
                const auto kind = static_cast<coll::Kind>(c);
                if (group.tuning().pick(kind, 1 << 20)->name != "flat") return "not flat";
                if (std::string fault = run_one(group, {.kind = kind, .bytes = 9000, .root = 1}); !fault.empty())
                  return fault;
              }
              return {};
            }));
}

/// The algorithms that use shared memory.
std::vector<const Algorithm*> large_algorithms() {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name != "flat" && algorithm.name != "single" && algorithm.name != kTimed) found.push_back(&algorithm);
  return found;
}

/// One thread drives all members. `late` takes one step, then the others go as far as they get without it.
std::string with_one_late(const Algorithm& algorithm, int n, int late, bool in_place) {
  const Shape shape = small_shape(n);
  auto segment = Segment::create(shape, Backing::memfd);
  if (!segment) return segment.error().context;
  Tuning tuning = tuning_for(shape, n);
  if (!tuning.force(algorithm.kind, algorithm.name)) return "no such algorithm";
  std::deque<Group> groups;
  std::deque<Exercise> exercises;
  for (int m = 0; m < n; ++m) {
    Group& group = groups.emplace_back(*segment, 0, everybody(n), m, kTestWait, tuning);
    const Ask ask{.kind = algorithm.kind, .bytes = 3 * group.large_bytes() / (n == 2 ? 1 : 8), .in_place = in_place};
    Exercise& exercise = exercises.emplace_back(ask, n, m);
    prepare(group, exercise.operation(), exercise.task);
  }
  const auto drive = [&](int but) {
    for (int i = 0; i < 1000; ++i)
      for (int m = 0; m < n; ++m)
        if (m != but) advance(exercises[static_cast<std::size_t>(m)].task);
  };
  advance(exercises[static_cast<std::size_t>(late)].task);
  drive(late);
  drive(-1);
  for (Exercise& exercise : exercises) {
    if (advance(exercise.task) != Step::done) return "not done";
    if (std::string fault = exercise.check(); !fault.empty()) return fault;
  }
  return {};
}

TEST(OneLate, NobodyFillsASliceAgainBeforeAllHaveRead) {
  for (const Algorithm* algorithm : large_algorithms())
    for (const int n : {2, 16})
      for (const int late : {0, 1, n - 1})
        for (const bool in_place : {false, true})
          EXPECT_EQ("", with_one_late(*algorithm, n, late, in_place)) << algorithm->name << ", " << late << " is late";
}

class DeathInLarge : public testing::TestWithParam<const Algorithm*> {};

TEST_P(DeathInLarge, IsNamedAtAllOthers) {
  const coll::Kind kind = GetParam()->kind;
  const int n = 3, victim = 1;
  const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
    Tuning tuning = tuning_for(segment.shape(), n);
    if (!tuning.force(kind, GetParam()->name)) return "no such algorithm";
    Group group(segment, 0, everybody(n), rank, kTestWait, tuning);
    if (group.tuning().pick(kind, 100 * 1000) != GetParam()) return "another algorithm";
    for (int i = 0; i < 100000; ++i) {
      // The data are more than the rings hold, so that no rank can finish the operation for long without the dead one.
      Exercise exercise({.kind = kind, .bytes = 100 * 1000, .root = i % n, .seed = 5}, n, rank);
      if (rank == victim && i == 3) {
        prepare(group, exercise.operation(), exercise.task);
        for (int step = 0; step < 3; ++step) advance(exercise.task);
        ::kill(::getpid(), SIGKILL);
      }
      if (const Errc code = run(group, exercise.operation()); code != Errc::ok)
        return code == Errc::lost && run(group, exercise.operation()) == code ? group.error() : "another code";
    }
    return "it never failed";
  });
  EXPECT_EQ("signal 9", texts[victim]);
  for (const int rank : {0, 2})
    EXPECT_NE(std::string::npos, texts[static_cast<std::size_t>(rank)].find("rank 101 "))
        << texts[static_cast<std::size_t>(rank)];
}
INSTANTIATE_TEST_SUITE_P(EachAlgorithm, DeathInLarge, testing::ValuesIn(large_algorithms()), [](const auto& row) {
  return fmt::format("{}_{}", to_string(row.param->kind), row.param->name);
});

/// Returns the ranks' text after "single" or "shared".
std::string single_or_shared(Segment& segment, int rank, int n, bool wanted) {
  Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
  if (agree_on_single_copy(group, wanted) != Errc::ok) return group.error();
  const std::string fault = each_large(group, tuning_for(segment.shape(), n), {0, 1, 4096, 70001});
  return (group.turning.single_copy ? "single" : "shared") + fault;
}

TEST(SingleCopy, IsUsedByAllOrByNone) {
  for (const int n : {1, 2, 4}) {
    const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) {
      return single_or_shared(segment, rank, n, true);
    });
    for (const auto& text : texts) {
      EXPECT_EQ(texts[0], text);
      EXPECT_TRUE(text == "single" || text == "shared") << text;  // Some systems that run this test forbid single copy.
    }
  }
}

TEST(SingleCopy, ManyPiecesAreRightInEveryOrderAndInPlace) {
  constexpr coll::Kind kColls[] = {coll::Kind::allreduce, coll::Kind::allgather, coll::Kind::alltoall,
                                   coll::Kind::scatter};
  for (const int n : {1, 2, 3, 5}) {
    const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
      if (agree_on_single_copy(group) != Errc::ok) return group.error();
      if (!group.turning.single_copy) return "shared";
      Tuning tuning = tuning_for(segment.shape(), n);
      tuning.large.single_piece_bytes = 1000;
      for (const coll::Kind kind : kColls)
        if (!tuning.force(kind, "single")) return "no single";
      group.set_tuning(tuning);
      for (std::size_t i = 0; i < 4 * std::size(kReductions); ++i)
        for (const coll::Kind kind : kColls) {
          const Ask ask{.kind = kind,
                        .bytes = i % 4 < 2 ? 50000 : 16 * (i + 1),
                        .in_place = i % 2 == 0,
                        .reduction = i / 4,
                        .seed = i};
          if (std::string fault = run_one(group, ask); !fault.empty()) return fault;
        }
      return {};
    });
    if (texts[0] == "shared") GTEST_SKIP() << "this system forbids it";
    for (const auto& text : texts) EXPECT_EQ("", text) << n;
  }
}

/// Memory that the system does not copy for other processes; nullptr: this system has none.
std::byte* secret_memory(std::size_t bytes) {
  const int fd = static_cast<int>(::syscall(SYS_memfd_secret, 0));
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

/// Runs the exercise with its data in memory that the system does not copy for other processes.
std::string run_in_secret(Group& group, const Ask& ask, bool in_secret, bool out_secret) {
  Exercise exercise(ask, group.size(), group.index());
  coll::Operation operation = exercise.operation();
  const std::size_t in_bytes = exercise.in().size(), out_bytes = exercise.out().size();
  if (in_secret && !operation.in_place() && in_bytes != 0) {
    std::byte* const memory = secret_memory(in_bytes);
    if (memory == nullptr) return "no secret memory";
    std::memcpy(memory, exercise.in().data(), in_bytes);
    operation.in = memory;
  }
  if (out_secret) {
    std::byte* const memory = secret_memory(out_bytes);
    if (memory == nullptr) return "no secret memory";
    std::memcpy(memory, exercise.out().data(), out_bytes);
    operation.out = memory;
  }
  if (run(group, operation) != Errc::ok) return fmt::format("run: {}", group.error());
  if (out_secret) std::memcpy(exercise.out().data(), operation.out, out_bytes);
  if (operation.in != exercise.operation().in) ::munmap(const_cast<void*>(operation.in), in_bytes);
  if (out_secret) ::munmap(operation.out, out_bytes);
  return exercise.check();
}

TEST(SingleCopy, GoesThroughSharedMemoryWhereTheSystemCopiesAMembersMemoryForNobody) {
  constexpr coll::Kind kColls[] = {coll::Kind::allreduce,  coll::Kind::bcast,    coll::Kind::allgather,
                                   coll::Kind::allgatherv, coll::Kind::alltoall, coll::Kind::alltoallv};
  struct Scene {
    const char* name;
    bool in, out, at_all, in_place;
    std::uint64_t closed
        [2];  ///< The number of collectives with even blocks that meet it: with two ranks (which write), with three.
  };
  static constexpr Scene kScenes[] = {
      {"one member's input", true, false, false, false, {1, 3}},
      {"one member's result", false, true, false, false, {4, 2}},
      {"nothing: the time before is not remembered", false, false, false, false, {0, 0}},
      {"both, at all", true, true, true, false, {4, 4}},
      {"one member's, in place", false, true, false, true, {3, 3}},
      {"in place, at all", false, true, true, true, {3, 3}},
  };
  for (const int n : {2, 3}) {
    const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
      if (agree_on_single_copy(group) != Errc::ok) return group.error();
      if (!group.turning.single_copy) return "shared";
      Tuning tuning = tuning_for(segment.shape(), n);
      for (const coll::Kind kind : kColls)
        if (!tuning.force(kind, "single")) return "no single";
      group.set_tuning(tuning);
      int number = 0;
      for (const Scene& scene : kScenes) {
        std::uint64_t closed = 0;
        for (const coll::Kind kind : kColls) {
          const bool here = scene.at_all || rank == n - 1;
          const Ask ask{.kind = kind,
                        .bytes = 60 * 1000,
                        .root = number % n,
                        .in_place = scene.in_place,
                        .seed = static_cast<std::uint64_t>(++number)};
          const std::uint64_t closed_before = group.closed();
          if (std::string fault = run_in_secret(group, ask, here && scene.in, here && scene.out); !fault.empty())
            return fmt::format("{}, {}: {}", to_string(kind), scene.name, fault);
          if (kind != coll::Kind::allgatherv && kind != coll::Kind::alltoallv) closed += group.closed() - closed_before;
        }
        if (closed != scene.closed[n - 2]) return fmt::format("{}: {} counted", scene.name, closed);
      }
      return {};
    });
    if (texts[0] == "shared") GTEST_SKIP() << "this system forbids it";
    for (const auto& text : texts) {
      if (text.ends_with("no secret memory")) GTEST_SKIP() << "this kernel has no secret memory";
      EXPECT_EQ("", text) << n;
    }
  }
}

TEST(SingleCopy, IsTriedByPairsWithACoreEach) {
  const struct {
    const char* name;
    TuningInput input;
    bool is_timed;
    const char* why;
  } rows[] = {
      {"allowed",
       {.size = 2, .single_copy = true},
       true,
       "the first calls of each size go both ways, and the times decide"},
      {"not allowed", {.size = 2}, false, "the first calls of each size go both ways, and the times decide"},
      {"ranks share cores", {.size = 2, .crowded = true, .single_copy = true}, false, "the ranks share processors"},
      {"three: not measured",
       {.size = 3, .single_copy = true},
       false,
       "it serves two ranks only: its gain for more is unknown"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Tuning tuning = default_tuning(row.input);
    for (const coll::Kind kind :
         {coll::Kind::allgather, coll::Kind::alltoall, coll::Kind::bcast, coll::Kind::allreduce, coll::Kind::scatter}) {
      EXPECT_EQ(row.is_timed, tuning.pick(kind, 1 << 20)->name == kTimed) << to_string(kind);
      EXPECT_NE(kTimed, tuning.pick(kind, 32 * 1024)->name) << to_string(kind);
    }
    EXPECT_NE(kTimed, tuning.pick(coll::Kind::allgatherv, 1 << 20)->name);
    EXPECT_EQ(row.why, about_single_copy(row.input));
  }
}

// A member that has found the group broken returns to its caller, and then no member may write into its memory any
// more.
TEST(SingleCopy, WhoeverGivesUpWaitsForThoseThatWriteIntoItsMemory) {
  const Shape shape = small_shape(2);
  std::atomic<bool> writes{false}, is_out{false};
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(shape, 2));
              if (rank == 1) {
                while (!writes.load()) sched_yield();
                group.break_because(Errc::lost, "a test");
                is_out.store(true);
                return {};
              }
              if (!group.enter_others()) return "nobody has given up yet";
              writes.store(true);
              while (segment.header().culprit.load() == 0) sched_yield();
              for (int i = 0; i < 1000; ++i) {
                if (is_out.load()) return "it went away although somebody writes into its memory";
                sched_yield();
              }
              group.leave_others();
              while (!is_out.load()) sched_yield();
              return group.enter_others() ? "it may write into the memory of who has given up" : "";
            }));
}

// A member that has found the dead one returns, and its caller may unmap memory that others still read.
TEST(SingleCopy, MemoryThatIsGoneBecauseItsOwnerHasFoundADeathIsNotTakenForRefused) {
  const Shape shape = small_shape(3);
  auto segment = Segment::create(shape, Backing::memfd);
  ASSERT_TRUE(segment.has_value());
  for (int m = 0; m < shape.members; ++m) segment->entry(m).process = this_process();
  Group group(*segment, 0, everybody(3), 2, kTestWait, tuning_for(shape, 3));
  segment->header().culprit.store(1 + 1);  // As member 0 stores it.
  EXPECT_EQ(Meets::death, what_meets(group, Copied::refused));
  EXPECT_EQ(Errc::lost, group.broken());
  EXPECT_EQ(0u, group.error().find(fmt::format("rank 101 (host {}, process ", host_name())))
      << "it had no Group of its own yet: " << group.error();
  EXPECT_NE(std::string::npos, group.error().find(" died")) << group.error();
}

TEST(SingleCopy, ADeathIsNamedAtAllOthers) {
  constexpr coll::Kind kColls[] = {coll::Kind::allgatherv, coll::Kind::allgather, coll::Kind::alltoall,
                                   coll::Kind::allreduce,  coll::Kind::bcast,     coll::Kind::alltoallv,
                                   coll::Kind::scatter};
  constexpr int kCount = std::size(kColls);
  for (int row = 0; row < 2 * kCount; ++row) {
    const int n = 2 + row % 2, dies_in = row / 2;
    SCOPED_TRACE(fmt::format("{} of {}", to_string(kColls[dies_in]), n));
    const auto texts = run_processes(small_shape(n), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(segment.shape(), n));
      if (agree_on_single_copy(group) != Errc::ok) return group.error();
      if (!group.turning.single_copy) return "shared";
      Tuning tuning = tuning_for(segment.shape(), n);
      for (const coll::Kind kind : kColls)
        if (!tuning.force(kind, "single")) return "no single";
      group.set_tuning(tuning);
      for (int i = 0; i < 100000; ++i) {
        Exercise exercise({.kind = kColls[i % kCount], .bytes = 100 * 1000, .seed = 5}, n, rank);
        if (rank == 1 && i == kCount + dies_in) {
          prepare(group, exercise.operation(), exercise.task);
          advance(exercise.task);
          ::kill(::getpid(), SIGKILL);
        }
        if (const Errc code = run(group, exercise.operation()); code != Errc::ok)
          return code == Errc::lost && run(group, exercise.operation()) == code ? group.error() : "another code";
        if (std::string fault = exercise.check(); !fault.empty()) return fault;
      }
      return "it never failed";
    });
    if (texts[0] == "shared") GTEST_SKIP() << "this system forbids it";
    EXPECT_EQ("signal 9", texts[1]);
    for (int rank = 0; rank < n; rank += 2)
      EXPECT_NE(std::string::npos, texts[static_cast<std::size_t>(rank)].find("rank 101 "))
          << texts[static_cast<std::size_t>(rank)];
  }
}

TEST(SingleCopy, OneMemberThatMayNotOrWillNotIsEnough) {
  for (const bool forbidden : {true, false}) {
    const auto texts = run_processes(small_shape(3), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      if (forbidden && rank == 1 && !forbid(kCopiesBetweenProcesses)) return "no seccomp";
      return single_or_shared(segment, rank, 3, forbidden || rank != 1);
    });
    if (texts[1] == "no seccomp") GTEST_SKIP() << "this kernel has no seccomp filters";
    for (const auto& text : texts) EXPECT_EQ("shared", text);
  }
}

TEST(SingleCopy, EverybodyHearsWhoRefusesAndWhy) {
  const auto texts = run_processes(small_shape(3), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
    Group group(segment, 0, everybody(3), rank, kTestWait, tuning_for(segment.shape(), 3));
    CopyRefusal none, unwanted, denied;
    if (agree_on_single_copy(group, true, &none) != Errc::ok) return group.error();
    if (!group.turning.single_copy) return "shared";
    if (agree_on_single_copy(group, rank != 2, &unwanted) != Errc::ok) return group.error();
    const bool filtered = rank != 1 || forbid(kCopiesBetweenProcesses);
    if (agree_on_single_copy(group, true, &denied) != Errc::ok) return group.error();
    if (!filtered) return "no seccomp";
    return fmt::format("{} {}, {} {}, {} {} {}", none.member, none.other, unwanted.member, unwanted.other,
                       denied.member, denied.other, machine::why(denied.why));
  });
  if (texts[0] == "shared") GTEST_SKIP() << "this system forbids it";
  if (texts[1] == "no seccomp") GTEST_SKIP() << "this kernel has no seccomp filters";
  for (const auto& text : texts)
    EXPECT_EQ(fmt::format("-1 -1, 2 -1, 1 0 {}", machine::why(machine::Cma::denied)), text);
}

}  // namespace
}  // namespace sumac::shm
