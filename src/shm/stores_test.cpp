// Writing through the caches and past them: the choice, and results in both ways.
#include "shm/stores.hpp"

#include <gtest/gtest.h>

#include "base/copy.hpp"
#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

constexpr coll::Kind kKinds[] = {coll::Kind::allreduce, coll::Kind::reduce,   coll::Kind::bcast,
                                 coll::Kind::allgather, coll::Kind::alltoall, coll::Kind::reduce_scatter_block,
                                 coll::Kind::gather,    coll::Kind::scatter};
constexpr std::size_t kBytes = 20'000;
constexpr int kUntilDecided = coll::Decision::kTrials + 1;
/// Only ranks with a core each are timed.
constexpr WaitSettings kAlone{.ranks_on_host = 2, .cpus = 2};

bool drive_to_the_end(Task& task) {
  Step step = Step::waiting;
  while (step == Step::waiting) step = advance(task), sched_yield();
  return step == Step::done;
}

/// One call, blocking or step by step; returns "" or the fault.
std::string call(Group& group, const Ask& ask, bool by_steps = false) {
  Exercise exercise(ask, group.size(), group.index());
  if (by_steps) {
    prepare(group, exercise.operation(), exercise.task);
    if (!drive_to_the_end(exercise.task)) return group.error();
  } else if (run(group, exercise.operation()) != Errc::ok) {
    return group.error();
  }
  return exercise.check();
}

std::string calls(Group& group, coll::Kind kind, std::size_t bytes, int count, bool by_steps = false) {
  std::string fault;
  for (int i = 0; i < count && fault.empty(); ++i)
    fault = call(group,
                 {.kind = kind,
                  .bytes = bytes,
                  .root = i % group.size(),
                  .in_place = i % 5 == 0,
                  .reduction = static_cast<std::size_t>(i) % std::size(kReductions),
                  .seed = static_cast<std::uint64_t>(i + 1)},
                 by_steps);
  return fault;
}

/// Runs `function` in threads that are ranks of one group; returns the first fault.
std::string in_group(int ranks, const WaitSettings& wait, const std::function<std::string(Group& group)>& function) {
  const Shape shape = small_shape(ranks);
  return run_threads(shape, [&](Segment& segment, int rank) {
    Group group(segment, 0, everybody(ranks), rank, wait, tuning_for(shape, ranks));
    return function(group);
  });
}

TEST(Stores, EachAlgorithmHasTheSameResultsPastTheCaches) {
  for (const int ranks : {1, 2, 3, 5})
    EXPECT_EQ(
        "", in_group(ranks, kTestWait,
                     [&](Group& group) -> std::string {
                       group.stores.fix(Stores::kPast);
                       for (const Algorithm& algorithm : algorithms()) {
                         if (algorithm.usable != nullptr && !algorithm.usable(group)) continue;
                         Tuning tuning = tuning_for(small_shape(ranks), ranks);
                         if (!tuning.force(algorithm.kind, algorithm.name)) return "no such algorithm";
                         group.set_tuning(tuning);
                         for (const std::size_t bytes : {std::size_t{8}, Stores::kPieceLeast + 16, std::size_t{50'000}})
                           if (auto fault = calls(group, algorithm.kind, bytes, 3); !fault.empty())
                             return fmt::format("{} by {}: {}", to_string(algorithm.kind), algorithm.name, fault);
                       }
                       return "";
                     }))
        << ranks;
}

TEST(Stores, AreDecidedByCallsOfOneKindAndServeAll) {
  if (!kCanCopyPastCaches) GTEST_SKIP() << "this processor has no such stores";
  for (const coll::Kind kind :
       {coll::Kind::allreduce, coll::Kind::allgather, coll::Kind::alltoall, coll::Kind::reduce_scatter_block})
    EXPECT_EQ("", in_group(2, kAlone,
                           [&](Group& group) -> std::string {
                             group.stores.allow();
                             if (!group.stores.is_open(coll::Kind::allreduce, kBytes) ||
                                 about_stores(group).find("at first") == std::string::npos)
                               return "not open";
                             if (auto fault = calls(group, kind, kBytes, kUntilDecided); !fault.empty()) return fault;
                             if (group.stores.is_open(coll::Kind::allreduce, kBytes)) return "not decided";
                             if (about_stores(group).find("the caches: 1 KiB took ") == std::string::npos)
                               return "no times";
                             for (const coll::Kind other : kKinds)
                               if (auto fault = calls(group, other, 3 * kBytes, 2); !fault.empty()) return fault;
                             return "";
                           }))
        << to_string(kind);
}

TEST(Stores, OfSmallCallsAreNeverTried) {
  EXPECT_EQ("", in_group(2, kAlone, [&](Group& group) -> std::string {
              group.stores.allow();
              const std::uint64_t before = group.round();
              if (auto fault = calls(group, coll::Kind::allreduce, 1000, kUntilDecided); !fault.empty()) return fault;
              // An allreduce of one eager buffer is one round, and a trial would begin with another.
              return group.round() - before == kUntilDecided ? "" : "other rounds than the calls' own";
            }));
}

TEST(Stores, OfCallsInWhichAMemberMayLeaveFirstAreNeverTried) {
  EXPECT_EQ(
      "", in_group(2, kAlone, [&](Group& group) -> std::string {
        group.stores.allow();
        for (const coll::Kind kind : {coll::Kind::bcast, coll::Kind::reduce, coll::Kind::gather, coll::Kind::scatter}) {
          const std::uint64_t before = group.round();
          // Large ones go by turns, and only a meeting would be a round.
          if (auto fault = calls(group, kind, kBytes, 3); !fault.empty()) return fault;
          if (group.round() != before) return fmt::format("a meeting in {}", to_string(kind));
        }
        return "";
      }));
}

TEST(Stores, OfCallsThatTheirCallerDrivesAreDecidedOrPutOff) {
  EXPECT_EQ("", in_group(2, kAlone, [&](Group& group) -> std::string {
              group.stores.allow();
              const auto meetings = [&](int count, std::string& fault) {
                const std::uint64_t before = group.round();
                fault = calls(group, coll::Kind::allgather, kBytes, count, true);
                return group.round() - before;
              };
              std::string fault;
              // The decision comes after some calls that both members have watched, or after too many that one has not.
              constexpr int kMost = coll::Decision::kTrials * coll::Decision::kSkipsMost;
              for (int i = 0; i < kMost && group.stores.is_open(coll::Kind::allgather, kBytes); ++i)
                if (const auto met = meetings(1, fault); !fault.empty() || met > 1) return fault + "meetings";
              if (group.stores.is_open(coll::Kind::allgather, kBytes)) return "neither decided nor put off";
              if (const auto next = meetings(100, fault); !fault.empty() || next != 0)
                return fault + "meetings afterwards";
              return "";
            }));
}

/// Slices of 64 KiB, as in a real segment.
std::string in_wide_group(const std::function<std::string(Group& group)>& function) {
  Shape shape;
  shape.members = 2;
  shape.group_sizes = {2};
  return run_threads(shape, [&](Segment& segment, int rank) {
    Group group(segment, 0, everybody(2), rank, kAlone, tuning_for(shape, 2));
    return function(group);
  });
}

TEST(Stores, AreDecidedByEachMemberAloneWhereNoCallIsTimed) {
  if (!kCanCopyPastCaches) GTEST_SKIP() << "this processor has no such stores";
  constexpr std::size_t bytes = 1 << 20;
  constexpr int kFills = coll::Decision::kFirstLook + coll::Decision::kTrials, kFillsOfACall = 16;
  for (const bool by_steps : {true, false})
    EXPECT_EQ("", in_wide_group([&](Group& group) -> std::string {
                group.stores.allow();
                // The members are roots in turns, so each writes in half of the calls.
                const std::string fault =
                    calls(group, coll::Kind::bcast, bytes, 2 * kFills / kFillsOfACall + 2, by_steps);
                if (!fault.empty()) return fault;
                return about_stores(group).find("took this rank") != std::string::npos ? "" : about_stores(group);
              }))
        << by_steps;
}

TEST(Stores, OfCallsThatTheirCallerLeavesAloneHaveNoTime) {
  EXPECT_EQ("", in_group(2, kAlone, [&](Group& group) -> std::string {
              group.stores.allow();
              const auto leave_alone = [](const Task& task, Time began) {
                // As a program does that computes: it stays away as long as all has taken so far.
                const Time now = monotonic_now();
                while (task.phase != 0 && monotonic_now() - now <= now - began) sched_yield();
              };
              for (int i = 0; i <= coll::Decision::kSkipsMost; ++i) {
                Exercise exercise({.kind = coll::Kind::allgather, .bytes = kBytes}, group.size(), group.index());
                const Time began = monotonic_now();
                prepare(group, exercise.operation(), exercise.task);
                for (Step step = Step::waiting; step == Step::waiting; leave_alone(exercise.task, began))
                  step = advance(exercise.task);
                if (auto fault = exercise.check(); !fault.empty()) return fault;
              }
              if (group.stores.is_open(coll::Kind::allgather, kBytes)) return "not put off";
              return group.stores.decision().median_ns(Stores::kPast) == 0 ? "" : "timed";
            }));
}

TEST(Stores, OfCallsThatChangeAreTriedWithThoseThatComeOften) {
  EXPECT_EQ("", in_group(2, kAlone, [&](Group& group) -> std::string {
              group.stores.allow();
              std::string fault = calls(group, coll::Kind::alltoall, kBytes, 1);
              // The first kind does not come again: after some patience the second one is tried.
              for (int i = 0; i < Stores::kPatience + kUntilDecided && fault.empty(); ++i)
                fault = calls(group, coll::Kind::allreduce, kBytes + static_cast<std::size_t>(i % 2) * 1024, 1);
              if (fault.empty() && group.stores.is_open(coll::Kind::allreduce, kBytes)) return "not decided";
              return fault;
            }));
}

}  // namespace
}  // namespace sumac::shm
