// Everyone who asks what a method takes gets the same answer: 1,000 random questions to the choice of src/p2p, to the
// lines of `sumac fabric bounds`, to the threshold of the tree and to its explanation.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/random.hpp"
#include "cost/bounds.hpp"
#include "p2p/choose.hpp"

namespace sumac::cost {
namespace {

using coll::Kind;
constexpr int kQuestions = 1000;

std::uint64_t first_seed() {
  const char* seed = std::getenv("SUMAC_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

struct Question {
  WaysFabric fabric;
  std::uint64_t bytes = 0;
};

Question draw(std::uint64_t seed) {
  Random random(seed);
  Question drawn;
  drawn.fabric.hosts = 2 + static_cast<std::uint32_t>(random.below(127));
  drawn.fabric.rails = 1 + static_cast<std::uint32_t>(random.below(3));
  drawn.fabric.port_rate_bits_per_s = 1'000'000 + random.below(400'000'000'000);
  drawn.fabric.hop_delay_ns = random.below(5'000'000);
  drawn.bytes = random.below(std::uint64_t{1} << (3 + random.below(28)));
  switch (random.below(4)) {
    case 0: return drawn;
    case 1: drawn.fabric = with_nodes_at_switches(drawn.fabric); return drawn;
    case 2:
      drawn.fabric = with_spare_hosts(drawn.fabric, 1 + static_cast<std::uint32_t>(random.below(drawn.fabric.hosts)));
      return drawn;
    default:
      drawn.fabric =
          with_nodes_on_hosts(drawn.fabric, 1 + static_cast<std::uint32_t>(random.below(drawn.fabric.hosts)));
      return drawn;
  }
}

/// Returns the times of the algorithms of src/p2p on a network where no message has to be announced.
std::map<p2p::Algorithm, double> by_p2p(const Question& asked, Kind kind) {
  std::map<p2p::Algorithm, double> found;
  const auto machine = machine_of(asked.fabric);
  for (const auto& candidate :
       p2p::candidates({kind, asked.bytes}, {.size = asked.fabric.hosts, .eager_max = UINT64_MAX}, machine))
    found[candidate.algorithm] = candidate.seconds;
  // A ring announces its messages whatever their size: one trip more.
  if (found.contains(p2p::Algorithm::ring)) found[p2p::Algorithm::ring] -= machine.trip_s;
  return found;
}

std::map<std::string, double> by_bounds(const Question& asked, Kind kind) {
  std::map<std::string, double> found;
  for (const auto& own : own_ways(asked.fabric, kind)) found[own.name] = own.line.at(asked.bytes);
  return found;
}

void expect_same(double a, double b) { EXPECT_NEAR(a, b, 1e-9 * std::max(a, b)); }

void compare_methods(const Question& asked) {
  const auto n = asked.fabric.hosts;
  auto p2p = by_p2p(asked, Kind::allreduce);
  auto bounds = by_bounds(asked, Kind::allreduce);
  expect_same(p2p[p2p::Algorithm::ring], ring_line(asked.fabric).at(asked.bytes));
  // The canonical tree is another method if members are no power of two: its last rank has at most as many trips.
  if (std::has_single_bit(n))
    expect_same(p2p[p2p::Algorithm::doubling], bounds["recursive doubling"]);
  else
    EXPECT_LE(canonical_doubling(n, 1).trips, rounds(n));
  expect_same(2 * p2p[p2p::Algorithm::exchange], bounds["all to one and back"]);
  p2p = by_p2p(asked, Kind::bcast);
  bounds = by_bounds(asked, Kind::bcast);
  expect_same(p2p[p2p::Algorithm::ring], bounds["a chain of hosts"]);
  expect_same(p2p[p2p::Algorithm::binomial], bounds["a binomial tree of hosts"]);
  expect_same(p2p[p2p::Algorithm::exchange], bounds["one host for all"]);
  p2p = by_p2p(asked, Kind::reduce);
  bounds = by_bounds(asked, Kind::reduce);
  expect_same(p2p[p2p::Algorithm::binomial], bounds["a binomial tree of hosts"]);
  expect_same(p2p[p2p::Algorithm::exchange], bounds["one host for all"]);
  // The bytes are the same; the ring takes more steps than halving does.
  expect_same(
      by_p2p(asked, Kind::allgatherv)[p2p::Algorithm::ring] - (n - 1.0 - rounds(n)) * machine_of(asked.fabric).trip_s,
      by_bounds(asked, Kind::allgatherv)["recursive doubling"]);
}

void compare_threshold(const Question& asked, Kind kind) {
  const auto most = tree_bytes_max(asked.fabric, kind);
  EXPECT_EQ(tree_limit(asked.fabric, kind, 0, INT64_MAX), most);
  EXPECT_GE(tree_limit(asked.fabric, kind, 1024, INT64_MAX), 1024) << "one message is for the tree";
  EXPECT_LE(tree_limit(asked.fabric, kind, 1024, 4096), 4096) << "no more than it can hold";
  if (kind == Kind::allreduce && !asked.fabric.trees.empty()) {
    const auto limit = most == kNoLimit ? "the tree does not lose at any size"
                                        : "beyond " + bytes_text(static_cast<std::uint64_t>(most)) + " the hosts'";
    EXPECT_NE(explain(asked.fabric).find(limit), std::string::npos) << explain(asked.fabric);
  }
  if (asked.fabric.trees.empty() || asked.bytes == 0) return;
  // A method whose bytes take no less than the tree's (within 0.1 %) never decides: the tree may be behind it by delay.
  const Line tree = tree_line(asked.fabric);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, own] : own_ways(asked.fabric, kind))
    if (tree.per_byte_s > own.per_byte_s * 1.001) least = std::min(least, own.at(asked.bytes));
  if (asked.bytes <= static_cast<std::uint64_t>(most)) {
    EXPECT_LE(tree.at(asked.bytes), least * (1 + 1e-9));
  } else {
    // The limit is a whole number of bytes.
    EXPECT_GE(tree.at(asked.bytes + 1), least * (1 - 1e-9));
  }
}

TEST(Homes, GiveTheSameAnswersToAThousandQuestions) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + kQuestions; ++seed) {
    SCOPED_TRACE(fmt::format("rerun with SUMAC_SEED={}", seed));
    const auto asked = draw(seed);
    compare_methods(asked);
    for (const Kind kind : {Kind::allreduce, Kind::bcast, Kind::reduce, Kind::allgather, Kind::reduce_scatter_block})
      compare_threshold(asked, kind);
    if (HasFailure()) return;
  }
}

TEST(Homes, ALinkCarriesWholeBytesInATime) {
  EXPECT_EQ(bytes_within(20'000, 1'000'000'000), 2500u);
  EXPECT_EQ(bytes_within(1, 7), 0u);
  EXPECT_EQ(bytes_within(2'000'000'000, 400'000'000'000), 100'000'000'000u) << "more bits than 64 hold on the way";
}

TEST(Homes, AddingAndWakingCountWhereAMachineHasFiguresForThem) {
  const auto method = ring(8, 800);
  EXPECT_EQ(method.sums, 700) << "a member adds what lies with the others";
  EXPECT_EQ(method.wakes, 14);
  Machine machine;
  const double without = seconds(method, machine);
  machine.sum_byte_s = 1e-9;
  machine.wake_s = 2e-6;
  EXPECT_NEAR(seconds(method, machine) - without, 700e-9 + 28e-6, 1e-15);
  EXPECT_NEAR(line(ring(8, 1), machine).at(800), seconds(method, machine), 1e-12);
}

}  // namespace
}  // namespace sumac::cost
