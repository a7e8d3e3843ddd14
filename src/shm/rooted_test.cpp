// Rooted collectives run ahead: members that only write return while those that read have not called yet. No test
// depends on time: readers enter when the writers have returned from all calls, and a writer that would wait is a fault.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <deque>

#include "shm/rooted.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

constexpr coll::Kind kRooted[] = {coll::Kind::bcast, coll::Kind::scatter, coll::Kind::reduce, coll::Kind::gather};
/// The root of these kinds writes; in the others it reads.
bool root_writes(coll::Kind kind) { return kind == coll::Kind::bcast || kind == coll::Kind::scatter; }

Shape real_shape(int members) {
  Shape shape;
  shape.members = members;
  shape.group_sizes = {members};
  return shape;
}

/// The ranks of a test count how far they are; each waits for a number.
class Counter {
 public:
  void add() { count_.fetch_add(1, std::memory_order_release); }
  void wait_for(int count) const {
    while (count_.load(std::memory_order_acquire) < count) sched_yield();
  }

 private:
  std::atomic<int> count_{0};
};

Ask ask_for(coll::Kind kind, std::size_t bytes, int root, int call) {
  return {.kind = kind, .bytes = bytes, .root = root, .seed = static_cast<std::uint64_t>(call) + 1};
}

TEST(RunAhead, WritersReturnFromAWholeRingOfCallsBeforeAReaderEnters) {
  const struct {
    std::size_t bytes;
    int calls;
  } rows[] = {{8, 64},   {24, 64},  {32, 64},  {48, 64},   {56, 64},  {104, 64},
              {112, 64}, {256, 64}, {264, 24}, {1024, 24}, {4096, 24}};
  for (const int n : {2, 4})
    for (const coll::Kind kind : kRooted)
      for (const auto& row : rows) {
        SCOPED_TRACE(fmt::format("{} of {} bytes, {} members", to_string(kind), row.bytes, n));
        const Shape shape = real_shape(n);
        const int root = n - 1, writers = root_writes(kind) ? 1 : n - 1;
        Counter wrote, read;
        std::atomic<int> faults{0};
        EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
                    Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
                    const bool writes = (rank == root) == root_writes(kind);
                    // After the first burst the writers must find out by themselves that the ring is free again.
                    for (int burst = 0; burst < 3; ++burst) {
                      if (!writes) wrote.wait_for((burst + 1) * writers);
                      std::string fault;
                      std::deque<Exercise> calls;
                      for (int i = 0; i < row.calls && faults == 0; ++i) {
                        Exercise& call = calls.emplace_back(ask_for(kind, row.bytes, root, burst * 100 + i), n, rank);
                        prepare(group, call.operation(), call.task);
                        if (writes && advance(call.task) != Step::done) fault = fmt::format("call {} waits", i);
                        if (!writes && wait(call.task) != Errc::ok) fault = group.error();
                        if (fault.empty()) fault = call.check();
                        if (!fault.empty()) ++faults;
                      }
                      if (writes) wrote.add();
                      if (!writes) read.add();
                      read.wait_for((burst + 1) * (n - writers));
                      if (faults != 0) return fault;
                    }
                    return {};
                  }));
      }
}

TEST(RunAhead, AFullRingTakesMoreWhenHalfOfItIsFree) {
  const Shape shape = real_shape(2);
  const int ring = static_cast<int>(kRootedRing);
  Counter gate, read;  // The reader does a part of its calls behind each of three gates.
  const int parts[] = {ring / 2 - 1, 1, ring / 2 + 1};
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(shape, 2));
              std::string fault;
              if (rank == 1) {
                for (int part = 0, i = 0; part < 3; ++part) {
                  gate.wait_for(part + 1);
                  for (int k = 0; k < parts[part]; ++k, ++i) {
                    Exercise call(ask_for(coll::Kind::bcast, 8, 0, i), 2, rank);
                    if (run(group, call.operation()) != Errc::ok) return group.error();
                    if (fault.empty()) fault = call.check();
                  }
                  read.add();
                }
                return fault;
              }
              for (int i = 0; i < ring; ++i) {
                Exercise call(ask_for(coll::Kind::bcast, 8, 0, i), 2, rank);
                if (run(group, call.operation()) != Errc::ok) return group.error();
              }
              Exercise last(ask_for(coll::Kind::bcast, 8, 0, ring), 2, rank);
              prepare(group, last.operation(), last.task);
              if (advance(last.task) != Step::waiting) fault = "the ring has no end";
              gate.add();
              read.wait_for(1);
              if (advance(last.task) != Step::waiting) fault = "one slot less than half was enough";
              gate.add();
              read.wait_for(2);
              if (advance(last.task) != Step::done) fault = "half of the ring is free and the writer waits";
              gate.add();
              if (wait(last.task) != Errc::ok) return group.error();
              return fault;
            }));
}

Ask random_ask(Random& random, int size) {
  static constexpr std::size_t kSizes[] = {8, 8, 48, 56, 104, 112, 256, 264, 1024, 4096, 4104, 8192, 9000, 40000};
  const bool is_rooted = random.chance(0.9);
  const auto kind =
      is_rooted ? kRooted[random.below(std::size(kRooted))] : static_cast<coll::Kind>(random.below(coll::kKinds));
  return {.kind = kind,
          .bytes = kSizes[random.below(std::size(kSizes))],
          .root = static_cast<int>(random.below(static_cast<std::uint64_t>(size))),
          .in_place = random.chance(0.3),
          .reduction = random.below(std::size(kReductions)),
          .seed = random.next()};
}

/// Blocking and posted calls of all sizes with rotating roots and with the same root many times; each rank is late in stretches of
/// its own.
TEST(RunAhead, MixedSizesRootsAndKindsGiveTheReferenceResultWhoeverIsLate) {
  for (const int n : {2, 3, 4, 7}) {
    SCOPED_TRACE(n);
    const Shape shape = real_shape(n);
    EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
                Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
                Random shared(77 + static_cast<unsigned>(n)), own(500 + static_cast<unsigned>(rank));
                Ask kept{};
                for (int i = 0; i < 1200; ++i) {
                  Ask ask = random_ask(shared, n);
                  if (i / 150 % 2 == 1) {  // A stretch of calls that are alike, so that rings become full.
                    if (i % 150 == 0) kept = ask;
                    kept.seed = ask.seed, ask = kept;
                  }
                  if (own.chance(0.02))
                    for (std::uint64_t turns = own.below(300); turns > 0; --turns) sched_yield();
                  Exercise call(ask, n, rank);
                  if (own.chance(0.5)) {
                    if (run(group, call.operation()) != Errc::ok) return group.error();
                  } else {
                    prepare(group, call.operation(), call.task);
                    for (Step step; (step = advance(call.task)) != Step::done; sched_yield())
                      if (step == Step::failed) return group.error();
                  }
                  if (std::string fault = call.check(); !fault.empty()) return fmt::format("{}: {}", i, fault);
                }
                return {};
              }));
  }
}

TEST(RunAhead, WhatADeadWriterLeftIsReadAndThenItsDeathIsNamed) {
  constexpr int kCalls = 40;
  for (const coll::Kind kind : kRooted) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const int writer = 1, reader = 0, root = root_writes(kind) ? writer : reader;
    const auto texts = run_processes(real_shape(2), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(segment.shape(), 2));
      for (int i = 0; i < kCalls; ++i) {
        Exercise call(ask_for(kind, 8, root, i), 2, rank);
        if (run(group, call.operation()) != Errc::ok) return fmt::format("call {}: {}", i, group.error());
        if (std::string fault = call.check(); !fault.empty()) return fault;
      }
      if (rank == writer) ::kill(::getpid(), SIGKILL);
      Exercise call(ask_for(kind, 8, root, kCalls), 2, rank);
      return run(group, call.operation()) == Errc::lost ? group.error() : "another code";
    });
    EXPECT_NE(std::string::npos, texts[reader].find("rank 101 ")) << texts[reader];
    EXPECT_EQ("signal 9", texts[writer]);
  }
}

TEST(RunAhead, AWriterWithAFullRingNamesADeadReader) {
  for (const coll::Kind kind : kRooted) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const int writer = 0, reader = 1, root = root_writes(kind) ? writer : reader;
    const auto texts = run_processes(real_shape(2), Backing::memfd, [&](Segment& segment, int rank) -> std::string {
      Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(segment.shape(), 2));
      if (rank == reader) ::kill(::getpid(), SIGKILL);
      for (int i = 0; i < 1000; ++i) {
        Exercise call(ask_for(kind, 4096, root, i), 2, rank);
        if (run(group, call.operation()) == Errc::ok) continue;
        return i == static_cast<int>(kRootedMiddleRing) ? group.error() : fmt::format("call {} failed", i);
      }
      return "it never failed";
    });
    EXPECT_NE(std::string::npos, texts[writer].find("rank 101 ")) << texts[writer];
  }
}

TEST(RootedArea, IsMadeByRootedCallsAloneAndHasABound) {
  const Shape shape = real_shape(2);
  const GroupLayout at = layout_of(shape, 0);
  const auto kib_there = [&](const Segment& segment, int member) {
    std::vector<unsigned char> pages(kRootedStride / kPage);
    EXPECT_EQ(0, ::mincore(segment.at(at.rooted + static_cast<std::size_t>(member) * kRootedStride), kRootedStride,
                           pages.data()));
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }) * 4;
  };
  const struct {
    const char* name;
    std::vector<coll::Kind> kinds;
    std::vector<std::size_t> sizes;
    std::ptrdiff_t root_kib_max, other_kib_max;
  } rows[] = {
      {"nothing without a rooted call",
       {coll::Kind::allreduce, coll::Kind::alltoall, coll::Kind::barrier},
       {4096},
       0,
       0},
      {"8 bytes need the lines alone", {coll::Kind::bcast}, {8}, 12, 0},
      {"all sizes together", {coll::Kind::bcast}, {256, 4096, 40000}, 128, 0},
      {"all kinds", {kRooted, std::end(kRooted)}, {8, 256, 4096, 40000}, 128, 128},
  };
  Counter done, looked;
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(2), rank, kTestWait, tuning_for(shape, 2));
              for (int row = 0; row < static_cast<int>(std::size(rows)); ++row) {
                for (const coll::Kind kind : rows[row].kinds)
                  for (const std::size_t bytes : rows[row].sizes)
                    for (int i = 0; i < 100; ++i) {
                      Exercise call(ask_for(kind, bytes, 0, i), 2, rank);
                      if (run(group, call.operation()) != Errc::ok) return group.error();
                      EXPECT_EQ("", call.check());
                    }
                done.add();
                if (rank == 0) {
                  done.wait_for(2 * (row + 1));
                  EXPECT_LE(kib_there(segment, 0), rows[row].root_kib_max) << rows[row].name;
                  EXPECT_LE(kib_there(segment, 1), rows[row].other_kib_max) << rows[row].name;
                  looked.add();
                }
                looked.wait_for(row + 1);
              }
              return {};
            }));
}

}  // namespace
}  // namespace sumac::shm
