// The choice follows from the network's figures: on fake networks of given delay, rate and message cost.
#include "p2p/choose.hpp"

#include <gtest/gtest.h>

#include "p2p/running.hpp"

namespace sumac::p2p {
namespace {

using coll::Kind;

constexpr Costs kLan{
    .trip_s = 30e-6, .message_s = 3e-6, .per_byte_s = 8 / 10e9, .mesh_byte_s = 8 / 10e9, .short_byte_s = 8 / 10e9};
/// A long way with slow links, where messages cost nothing beside a trip.
constexpr Costs kFar{
    .trip_s = 2e-3, .message_s = 5e-6, .per_byte_s = 8 / 1e9, .mesh_byte_s = 8 / 1e9, .short_byte_s = 8 / 1e9};
/// Processes that share few cores: each message costs as much as a trip.
constexpr Costs kCrowded{.trip_s = 300e-6,
                         .message_s = 290e-6,
                         .per_byte_s = 8 / 200e6,
                         .mesh_byte_s = 8 / 200e6,
                         .short_byte_s = 8 / 200e6};
/// The same links over three switches that store whole frames.
constexpr Costs kStored{
    .trip_s = 330e-6, .message_s = 170e-6, .per_byte_s = 43e-9, .mesh_byte_s = 43e-9, .short_byte_s = 98e-9};
/// Two leaves of hosts whose uplinks are as fast as one host's link.
constexpr Costs kNarrow{
    .trip_s = 330e-6, .message_s = 170e-6, .per_byte_s = 43e-9, .mesh_byte_s = 95e-9, .short_byte_s = 98e-9};

TEST(Choose, TheLeastBoundIsChosen) {
  const struct {
    const char* name;
    Kind kind;
    std::uint64_t bytes;
    std::uint32_t size;
    Costs costs;
    Algorithm expected;
  } rows[] = {
      {"one trip beats four where messages are cheap", Kind::allreduce, 8, 16, kFar, Algorithm::exchange},
      {"few messages win where each costs a trip", Kind::allreduce, 8, 16, kCrowded, Algorithm::doubling},
      {"a whole vector in each round is late at each switch", Kind::allreduce, 16384, 8, kStored, Algorithm::blocks},
      {"part of a small vector each", Kind::allreduce, 100'000, 16, kLan, Algorithm::blocks},
      {"a large vector goes round the ring", Kind::allreduce, 64u << 20, 8, kLan, Algorithm::ring},
      {"so it does on slow links", Kind::allreduce, 1u << 20, 8, kCrowded, Algorithm::ring},
      {"it goes round the ring sooner where uplinks are narrow", Kind::allreduce, 1u << 18, 8, kNarrow,
       Algorithm::ring},
      {"a barrier of one trip", Kind::barrier, 0, 8, kFar, Algorithm::exchange},
      {"a barrier of few messages", Kind::barrier, 0, 8, kCrowded, Algorithm::doubling},
      {"a short bcast to all at once", Kind::bcast, 8, 8, kFar, Algorithm::exchange},
      {"a short bcast by a tree", Kind::bcast, 8, 8, kCrowded, Algorithm::binomial},
      {"a long bcast by a chain", Kind::bcast, 64u << 20, 8, kLan, Algorithm::ring},
      {"a long allgather by the ring", Kind::allgather, 8u << 20, 8, kLan, Algorithm::ring},
      {"a short allgather at once", Kind::allgather, 8, 8, kFar, Algorithm::exchange},
      {"a gather by a tree where messages are dear", Kind::gather, 8, 16, kCrowded, Algorithm::binomial},
      {"one member alone has nothing to choose", Kind::allreduce, 8, 1, kLan, Algorithm::exchange},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Question question{row.kind, row.bytes};
    EXPECT_EQ(to_string(choose(question, {.size = row.size}, row.costs)), to_string(row.expected))
        << explain(question, {.size = row.size}, row.costs);
    EXPECT_EQ(candidates(question, {.size = row.size}, row.costs)[0].algorithm, row.expected);
  }
}

TEST(Choose, TheRingIsLeftOutWhereTheOrderOfAddingMatters) {
  for (const auto kind : {Kind::allreduce, Kind::reduce_scatter_block})
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 30}) {
      for (const auto& candidate : candidates({kind, bytes}, {.size = 8, .reproducible = true}, kLan))
        EXPECT_NE(candidate.algorithm, Algorithm::ring);
      for (const auto& candidate : candidates({kind, bytes, /*commutes=*/false}, {.size = 8}, kLan))
        EXPECT_NE(candidate.algorithm, Algorithm::ring);
    }
  EXPECT_EQ(choose({Kind::allreduce, 64u << 20}, {.size = 8, .reproducible = true}, kLan), Algorithm::blocks);
}

TEST(Choose, ALongMessageCostsATripToAnnounceIt) {
  const auto seconds = [](std::uint64_t bytes) {
    for (const auto& candidate : candidates({Kind::allreduce, bytes}, {.size = 2, .eager_max = 1000}, kFar))
      if (candidate.algorithm == Algorithm::doubling) return candidate.seconds;
    return 0.0;
  };
  EXPECT_NEAR(seconds(1001) - seconds(1000), kFar.trip_s, 1e-6);
}

TEST(Choose, TheReasonNamesAllCandidatesWithTheirTimes) {
  EXPECT_EQ(explain({Kind::allreduce, 8}, {.size = 16}, kFar),
            "allreduce of 8 bytes: exchange, at least 2.07 ms (blocks 4.14 ms, doubling 8 ms, ring 62 ms)");
}

TEST(Choose, AMessageIsNeverLongerThanTheLimit) {
  coll::Fold fold;
  fold.element_bytes = 8;
  for (const auto kind : {Kind::allreduce, Kind::bcast, Kind::allgather, Kind::alltoall, Kind::gather, Kind::scatter,
                          Kind::reduce, Kind::reduce_scatter_block})
    for (const auto& candidate : candidates({kind, 50u << 20}, {.size = 5}, kLan)) {
      coll::Pattern pattern;
      const coll::Operation operation{.kind = kind, .root = 1, .in = &fold, .bytes = 50u << 20, .fold = &fold};
      write_pattern(pattern, {1, 5}, operation, candidate.algorithm, false);
      for (const auto& step : pattern.steps)
        if (step.what == coll::Step::Do::send || step.arrives()) {
          ASSERT_LE(step.bytes, kMessageMax) << to_string(kind) << " by " << to_string(candidate.algorithm);
        }
    }
}

}  // namespace
}  // namespace sumac::p2p
