// The choice between shared memory and single copy, by two processes.
#include "shm/single/decisions.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.hpp"
#include "shm/single/cma.hpp"
#include "shm/single/timed.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"
#include "shm/trial.hpp"

namespace sumac::shm {
namespace {

TEST(Decisions, OneForEachPowerOfTwo) {
  EXPECT_EQ(0U, Decisions::class_of(8));
  EXPECT_EQ(0U, Decisions::class_of(128 * 1024));
  EXPECT_EQ(1U, Decisions::class_of(128 * 1024 + 1));
  EXPECT_EQ(3U, Decisions::class_of(1 << 20));
  EXPECT_EQ(4U, Decisions::class_of((1 << 20) + 1));
  EXPECT_EQ(6U, Decisions::class_of(8 << 20));
  EXPECT_EQ(7U, Decisions::class_of((8 << 20) + 1));
  EXPECT_EQ(7U, Decisions::class_of(std::size_t{1} << 40));
}

static_assert(was_watched(8000, 1000), "an eighth of its time is what a caller needs between two looks");
static_assert(!was_watched(8000, 1001));

constexpr WaitSettings kAlone{.ranks_on_host = 2, .cpus = 2};
constexpr coll::Kind kTimedColls[] = {coll::Kind::allreduce, coll::Kind::bcast, coll::Kind::allgather,
                                      coll::Kind::alltoall, coll::Kind::scatter};

Shape pair_shape(std::vector<int> groups = {2}) {
  Shape shape;
  shape.members = 2;
  shape.group_sizes = std::move(groups);
  return shape;
}

Tuning tuning_of_pair(const Shape& shape) {
  return default_tuning(
      {.size = 2, .eager_bytes = shape.eager_bytes, .large_bytes = shape.large_bytes, .single_copy = true});
}

/// Results are right through all trials and the decision, blocking and step by step; both members end with the same
/// choices.
TEST(Decision, OfTwoProcessesIsTheSameAndNoResultDependsOnIt) {
  const Shape shape = pair_shape({2, 2});
  const auto texts = run_processes(shape, Backing::memfd, [&](Segment& segment, int rank) -> std::string {
    Group group(segment, 0, everybody(2), rank, kAlone, tuning_of_pair(shape));
    if (agree_on_single_copy(group) != Errc::ok) return group.error();
    if (!group.turning.single_copy) return "shared";
    Tuning all_sizes = tuning_of_pair(shape);
    for (const coll::Kind kind : kTimedColls)
      if (!all_sizes.force(kind, kTimed)) return "no such algorithm";
    group.set_tuning(all_sizes);
    constexpr std::size_t bytes = 20'000;
    std::string chosen;
    for (const coll::Kind kind : kTimedColls) {
      for (int turn = 0; turn < Decision::kTrials + 12; ++turn) {
        Exercise exercise({.kind = kind,
                           .bytes = bytes,
                           .root = turn % 2,
                           .in_place = turn % 5 == 0,
                           .reduction = static_cast<std::size_t>(turn) % std::size(kReductions),
                           .seed = static_cast<std::uint64_t>(turn + 1)},
                          2, rank);
        if (turn % 6 == 5) {  // Driven like a nonblocking call: a trial where it was watched.
          prepare(group, exercise.operation(), exercise.task);
          Step step = Step::waiting;
          while (step == Step::waiting) step = advance(exercise.task), sched_yield();
          if (step != Step::done) return group.error();
        } else if (run(group, exercise.operation()) != Errc::ok) {
          return group.error();
        }
        if (const auto fault = exercise.check(); !fault.empty()) return fault;
      }
      const Algorithm* algorithm = decided(group, kind, bytes);
      if (algorithm == nullptr) return fmt::format("{} of {} B is not decided", to_string(kind), bytes);
      if (about_decision(group, kind, bytes).find("ns") == std::string::npos) return "no times";
      chosen += fmt::format("{} ", algorithm->name);
    }
    // Another group of the same two processes knows the decision from the start.
    Group second(segment, 1, everybody(2), rank, kAlone, tuning_of_pair(shape));
    if (agree_on_single_copy(second) != Errc::ok) return second.error();
    std::string known;
    for (const coll::Kind kind : kTimedColls) {
      const Algorithm* algorithm = decided(second, kind, bytes);
      known += fmt::format("{} ", algorithm == nullptr ? "?" : algorithm->name);
    }
    return known == chosen ? chosen : fmt::format("{} and then {}", chosen, known);
  });
  if (texts[0] == "shared") GTEST_SKIP() << "this system forbids single copy";
  EXPECT_EQ(texts[0], texts[1]);
  for (const auto& text : texts) EXPECT_EQ(std::string::npos, text.find_first_of("?,:")) << text;
}

}  // namespace
}  // namespace sumac::shm
