// SUMAC_REPRODUCIBLE through real daemons: on any tree the bits equal those of one process that adds along the
// canonical tree of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "client/world/test_world.hpp"
#include "reduce/reference.hpp"

namespace sumac::client::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr int kRanks = 7;

/// A rank's input, for which each order of adding gives other bits.
Bytes input(int rank, Dtype dtype, Op op, std::size_t count) {
  Random chance(static_cast<std::uint64_t>(rank) + 1);
  Bytes bytes(count * width(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const double sign = chance.chance(0.5) ? 1 : -1;
    const double x = op == Op::prod ? sign * (1 + chance.unit()) / 1.5
                                    : std::ldexp(sign * (1 + chance.unit()), static_cast<int>(chance.below(7)));
    const auto put = [&](auto v) { std::memcpy(bytes.data() + i * sizeof v, &v, sizeof v); };
    switch (dtype) {
      case Dtype::float16: put(reduce::float16_nearest(x)); break;
      case Dtype::bfloat16: put(reduce::bfloat16_nearest(x)); break;
      case Dtype::float32: put(static_cast<float>(x)); break;
      default: put(x); break;
    }
  }
  return bytes;
}

/// Adds in the order ((0 1)(2 3))((4 5) 6).
Bytes canonical(Dtype dtype, Op op, std::size_t count, int first = 0, int ranks = kRanks) {
  if (ranks == 1) return input(first, dtype, op, count);
  int left = 1;
  while (left * 2 < ranks) left *= 2;
  Bytes sum = canonical(dtype, op, count, first, left);
  const Bytes right = canonical(dtype, op, count, first + left, ranks - left);
  reduce::reference_reduce(op, dtype, Dtype::null, sum.data(), right.data(), count);
  return sum;
}

struct Case {
  Dtype dtype;
  Op op;
  std::size_t count;
  Bytes expected;
};

/// The sums are computed once, before there are ranks.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> made;
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64})
      for (const Op op : {Op::sum, Op::prod})
        for (const std::size_t count : {1u, 40u, 700u, 70'000u})  // The last one streams.
          made.push_back({dtype, op, count, canonical(dtype, op, count)});
    return made;
  }();
  return all;
}

void every_float_has_the_canonical_bits(Rank& rank, std::uint64_t job) {
  auto* context = rank.init(job);
  sharp_coll_caps caps{};
  RANK_EQUAL(sharp_coll_caps_query(context, &caps), 0);
  RANK_CHECK((caps.support_mask.feature_mask & SHARP_FEATURE_REPRODUCIBLE) != 0);
  auto* comm = rank.comm(context);
  for (const auto& [dtype, op, count, expected] : cases()) {
    const Bytes in = input(rank.rank, dtype, op, count);
    Bytes out(in.size());
    auto spec = reduce_spec(in.data(), out.data(), count, dtype, op);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_CHECK(out == expected);
    out.assign(in.size(), std::byte{0});
    spec.root = 3;
    RANK_EQUAL(sharp_coll_do_reduce(comm, &spec), 0);
    RANK_CHECK(rank.rank != 3 || out == expected);
  }
  // Operations whose order never mattered use the ordinary path.
  std::int32_t one = rank.rank, most = 0;
  auto spec = reduce_spec(&one, &most, 1, Dtype::int32, Op::max);
  RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
  RANK_EQUAL(most, kRanks - 1);
  RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
  RANK_EQUAL(sharp_coll_finalize(context), 0);
}

TEST(ReproducibleWorld, the_same_bits_on_every_tree) {
  const Shape shapes[] = {{.leaves = {"leaf1"}},
                          {.leaves = {"leaf1", "leaf2"}},
                          {.leaves = {"leaf1", "leaf2", "leaf3"}, .hosts_per_leaf = 2}};
  ASSERT_FALSE(cases().empty());
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.leaves.size());
    Daemons daemons(shape);
    // Ranks rotate over the hosts: neighbours are below different leaves, and almost nothing can be added before the
    // root.
    auto config = on(daemons, kRanks);
    config.environment = {{"SUMAC_REPRODUCIBLE", "1"}, {"SHARP_COLL_ENABLE_SAT", "1"}};
    const auto job = new_job_id();
    EXPECT_EQ(complaint(run_ranks(config, [&](Rank& rank) { every_float_has_the_canonical_bits(rank, job); })), "")
        << daemons.log();
  }
}

TEST_F(World, RankZerosWordOnReproducibleSumsIsEverybodys) {
  const auto job = new_job_id();
  expect_well(3, [&](Rank& rank) {
    // The ranks of one job start with different environments: if each decided for itself, the sum would end in a
    // verdict.
    ::setenv("SUMAC_REPRODUCIBLE", rank.rank == 0 ? "1" : "0", 1);
    auto* context = rank.init(job);
    auto* comm = rank.comm(context);
    float one = 1, sum = 0;
    auto spec = reduce_spec(&one, &sum, 1, Dtype::float32, Op::sum);
    RANK_EQUAL(sharp_coll_do_allreduce(comm, &spec), 0);
    RANK_EQUAL(sum, 3.0F);
    sharp_coll_caps caps{};
    RANK_EQUAL(sharp_coll_caps_query(context, &caps), 0);
    RANK_CHECK((caps.support_mask.feature_mask & SHARP_FEATURE_REPRODUCIBLE) != 0);
    RANK_EQUAL(sharp_coll_comm_destroy(comm), 0);
    RANK_EQUAL(sharp_coll_finalize(context), 0);
  });
}

}  // namespace
}  // namespace sumac::client::test
