// Runs every algorithm of the table, in every group size, around every threshold, with every kind of root, in place and
// not; then long mixed sequences with ranks that run ahead or lag behind, blocking and queued.
#include <gtest/gtest.h>

#include <deque>

#include "shm/test_exercise.hpp"
#include "shm/test_ranks.hpp"

namespace sumac::shm {
namespace {

/// Sizes on both sides of the first line, of both lines, of the eager buffer and of a cell of each, and of several
/// rounds.
std::vector<std::size_t> sizes(const Shape& shape, int members) {
  const std::size_t eager = layout_of(shape, 0).eager_bytes, n = static_cast<std::size_t>(members);
  std::vector<std::size_t> all = {
      0,   8,         16,    kFirstLineBytes, kFirstLineBytes + 8, kInlineBytes, kInlineBytes + 8,
      200, eager - 8, eager, eager + 8,       3 * eager + 16};
  for (const std::size_t cell : {kFirstLineBytes / n / 8 * 8, kInlineBytes / n / 8 * 8, eager / n / 16 * 16})
    for (const std::size_t size : {cell, cell + 8}) all.push_back(size);
  return all;
}

std::string run_one(Group& group, Ask ask) {
  Exercise exercise(ask, group.size(), group.index());
  if (const Errc code = run(group, exercise.operation()); code != Errc::ok)
    return fmt::format("run: {}", group.error());
  return exercise.check();
}

class EveryAlgorithm : public testing::TestWithParam<int> {};

TEST_P(EveryAlgorithm, GivesTheReferenceResultAroundEveryThreshold) {
  const int n = GetParam();
  const Shape shape = small_shape(n);
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
              std::uint64_t seed = 1;
              for (const Algorithm& algorithm : algorithms()) {
                if (algorithm.usable != nullptr && !algorithm.usable(group)) continue;
                Tuning tuning = tuning_for(shape, n);
                if (auto forced = tuning.force(algorithm.kind, algorithm.name); !forced) return forced.error().context;
                group.set_tuning(tuning);
                for (const std::size_t bytes : sizes(shape, n)) {
                  if (bytes > algorithm.bytes_max) continue;
                  for (const bool in_place : {false, true}) {
                    ++seed;
                    const Ask ask{.kind = algorithm.kind,
                                  .bytes = bytes,
                                  .root = static_cast<int>(seed % static_cast<unsigned>(n)),
                                  .in_place = in_place,
                                  .reduction = seed % std::size(kReductions),
                                  .seed = seed};
                    if (std::string fault = run_one(group, ask); !fault.empty())
                      return fmt::format("{}: {}", algorithm.name, fault);
                    if (algorithm.kind == coll::Kind::barrier) break;
                  }
                }
              }
              return {};
            }));
}
INSTANTIATE_TEST_SUITE_P(GroupSizes, EveryAlgorithm, testing::Range(1, 18));

TEST(LargestGroup, DoesEveryCollective) {
  const int n = kMembersMax;
  const Shape shape = small_shape(n);
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
              for (int kind = 0; kind < coll::kKinds; ++kind) {
                const Ask ask{.kind = static_cast<coll::Kind>(kind),
                              .bytes = 72,
                              .root = n - 1,
                              .seed = static_cast<std::uint64_t>(kind)};
                if (std::string fault = run_one(group, ask); !fault.empty()) return fault;
              }
              return {};
            }));
}

Ask random_ask(Random& random, int size, std::size_t bytes_max) {
  static constexpr std::size_t kSizes[] = {8, 8, 48, 56, 100, 1024, 1032};
  const std::size_t bytes =
      random.chance(0.1) ? random.below(bytes_max) / 4 * 4 : kSizes[random.below(std::size(kSizes))];
  return {.kind = static_cast<coll::Kind>(random.below(coll::kKinds)),
          .bytes = bytes,
          .root = static_cast<int>(random.below(static_cast<std::uint64_t>(size))),
          .in_place = random.chance(0.3),
          .reduction = random.below(std::size(kReductions)),
          .seed = random.next()};
}

/// Lets a rank dawdle: most go straight on, and some let the others run far ahead.
void dawdle(Random& own) {
  if (!own.chance(0.05)) return;
  for (std::uint64_t turns = own.below(50); turns > 0; --turns) sched_yield();
}

TEST(Sequence, OperationsOfAllKindsFollowEachOtherWhoeverLagsBehind) {
  for (const int n : {2, 3, 5, 8}) {
    SCOPED_TRACE(n);
    const Shape shape = small_shape(n);
    EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
                Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
                Random shared(42 + static_cast<unsigned>(n)), own(1000 + static_cast<unsigned>(rank));
                for (int i = 0; i < 1500; ++i) {
                  dawdle(own);
                  if (std::string fault = run_one(group, random_ask(shared, n, 4000)); !fault.empty())
                    return fmt::format("{}: {}", i, fault);
                }
                return {};
              }));
  }
}

TEST(Sequence, RootedKindsAloneRunAheadByARingAndNoFurther) {
  const int n = 4;
  const Shape shape = small_shape(n);
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
              Random shared(7), own(static_cast<unsigned>(rank));
              for (int i = 0; i < 3000; ++i) {
                dawdle(own);
                Ask ask = random_ask(shared, n, 2000);
                ask.kind = shared.chance(0.5) ? coll::Kind::bcast : coll::Kind::reduce;
                if (i / 100 % 2 == 0) ask.root = 1;
                if (std::string fault = run_one(group, ask); !fault.empty()) return fmt::format("{}: {}", i, fault);
              }
              return {};
            }));
}

TEST(Sequence, QueuedOperationsAreAdvancedInOrderAmongBlockingOnes) {
  const int n = 3;
  const Shape shape = small_shape(n);
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
              Random shared(99), own(static_cast<unsigned>(rank) + 5);
              std::deque<std::unique_ptr<Exercise>> queue;
              for (int i = 0; i < 1000; ++i) {
                queue.push_back(std::make_unique<Exercise>(random_ask(shared, n, 3000), n, rank));
                prepare(group, queue.back()->operation(), queue.back()->task);
                const bool drain = shared.chance(0.1);  // A blocking call, so older ones come first.
                while (!queue.empty() && (drain || queue.size() > 5 || own.chance(0.3))) {
                  Task& oldest = queue.front()->task;
                  if (drain && own.chance(0.5) && wait(oldest) != Errc::ok) return group.error();
                  if (const Step step = advance(oldest); step == Step::waiting) {
                    sched_yield();
                    continue;
                  } else if (step == Step::failed) {
                    return group.error();
                  }
                  if (advance(oldest) != Step::done) return "done once, and then no more";
                  if (std::string fault = queue.front()->check(); !fault.empty())
                    return fmt::format("{}: {}", i, fault);
                  queue.pop_front();
                }
              }
              while (!queue.empty()) {
                if (wait(queue.front()->task) != Errc::ok) return group.error();
                if (std::string fault = queue.front()->check(); !fault.empty()) return fault;
                queue.pop_front();
              }
              return {};
            }));
}

TEST(Sequence, AnOperationIsPreparedAgainAndAgain) {
  const int n = 2;
  const Shape shape = small_shape(n);
  EXPECT_EQ("", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
              Group group(segment, 0, everybody(n), rank, kTestWait, tuning_for(shape, n));
              Exercise exercise({.kind = coll::Kind::alltoallv, .bytes = 3000, .seed = 5}, n, rank);
              for (int i = 0; i < 50; ++i) {
                prepare(group, exercise.operation(), exercise.task);
                if (wait(exercise.task) != Errc::ok) return group.error();
                if (std::string fault = exercise.check(); !fault.empty()) return fault;
              }
              return {};
            }));
}

TEST(Sequence, SubgroupsOfOneSegmentDoNotDisturbEachOther) {
  // Six ranks have four groups: each of the two sockets (three ranks), the two leaders, and all six.
  const Shape shape = small_shape(6, {3, 3, 2, 6});
  EXPECT_EQ(
      "", run_threads(shape, [&](Segment& segment, int rank) -> std::string {
        const int socket = rank / 3;
        std::vector<Member> mine;
        for (int i = 0; i < 3; ++i) mine.push_back({socket * 3 + i, socket * 3 + i});
        const Tuning tuning = tuning_for(shape, 3);
        Group in_socket(segment, static_cast<std::size_t>(socket), mine, rank % 3, kTestWait, tuning);
        std::unique_ptr<Group> leaders;
        if (rank % 3 == 0)
          leaders = std::make_unique<Group>(segment, 2, std::vector<Member>{{0, 0}, {3, 3}}, socket, kTestWait, tuning);
        Group all(segment, 3, everybody(6), rank, kTestWait, tuning);
        Random shared(3), of_socket(100 + static_cast<unsigned>(socket)), of_leaders(200);
        for (int i = 0; i < 300; ++i) {
          std::string fault = run_one(in_socket, random_ask(of_socket, 3, 2000));
          if (fault.empty() && leaders) fault = run_one(*leaders, random_ask(of_leaders, 2, 2000));
          if (fault.empty() && i % 3 == 0) fault = run_one(all, random_ask(shared, 6, 2000));
          if (!fault.empty()) return fmt::format("{}: {}", i, fault);
        }
        return {};
      }));
}

TEST(Tuning, AForcedNameThatIsNoneNamesThoseThereAre) {
  Tuning tuning = default_tuning({});
  const auto forced = tuning.force(coll::Kind::bcast, "flta");
  ASSERT_FALSE(forced);
  EXPECT_EQ(Errc::not_found, forced.error().code);
  EXPECT_NE(std::string::npos, forced.error().context.find("flat")) << forced.error().context;
}

}  // namespace
}  // namespace sumac::shm
