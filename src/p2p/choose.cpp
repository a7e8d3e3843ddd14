#include "p2p/choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace sumac::p2p {
namespace {

using coll::Kind;
using cost::Method;

/// The ring is chosen where bounds differ by less: it has one flow on each link in each direction, so it keeps its
/// bound where switches are narrower than the sum of their ports, or their buffers small.
constexpr double kSameBound = 1.05;

struct Ways {
  std::array<std::pair<Algorithm, Method>, kAlgorithms> ways;
  std::size_t count = 0;
  void add(Algorithm algorithm, Method method) { ways[count++] = {algorithm, method}; }
};

Ways ways_of(const Question& question, const Limits& limits) {
  const std::uint32_t n = limits.size;
  const bool may_ring = question.commutes && !limits.reproducible;
  const auto m = static_cast<double>(question.bytes);
  Ways ways;
  switch (question.kind) {
    case Kind::barrier:
      ways.add(Algorithm::doubling, cost::dissemination(n));
      ways.add(Algorithm::exchange, cost::exchange(n, 0));
      break;
    case Kind::allreduce:
      if (may_ring) ways.add(Algorithm::ring, cost::ring(n, m));
      ways.add(Algorithm::doubling, cost::canonical_doubling(n, m));
      ways.add(Algorithm::exchange, cost::exchange(n, m));
      ways.add(Algorithm::blocks, cost::blocks(n, m));
      break;
    case Kind::reduce:
      ways.add(Algorithm::binomial, cost::binomial(n, m));
      ways.add(Algorithm::exchange, cost::star(n, m));
      break;
    case Kind::bcast:
      ways.add(Algorithm::ring, cost::chain(n, m));
      ways.add(Algorithm::binomial, cost::binomial(n, m));
      ways.add(Algorithm::exchange, cost::star(n, m));
      break;
    case Kind::allgather:
      ways.add(Algorithm::ring, cost::ring_of_blocks(n, m));
      ways.add(Algorithm::exchange, cost::exchange(n, m));
      break;
    case Kind::allgatherv:
      ways.add(Algorithm::ring, cost::ring_of_blocks(n, m / n));
      ways.add(Algorithm::exchange, cost::exchange(n, m / n));
      break;
    case Kind::reduce_scatter_block:
      if (may_ring) ways.add(Algorithm::ring, cost::ring_of_sums(n, m));
      ways.add(Algorithm::exchange, cost::exchange(n, m));
      break;
    case Kind::reduce_scatter: ways.add(Algorithm::exchange, cost::exchange(n, m / n)); break;
    case Kind::scan:
    case Kind::exscan: ways.add(Algorithm::doubling, cost::canonical_doubling(n, m)); break;
    case Kind::gather:
    case Kind::scatter:
      ways.add(Algorithm::binomial, cost::binomial_of_blocks(n, m));
      ways.add(Algorithm::exchange, cost::star(n, m));
      break;
    case Kind::alltoall:
    case Kind::alltoallv:
    case Kind::gatherv:
    case Kind::scatterv: ways.add(Algorithm::exchange, cost::exchange(n, m)); break;
  }
  return ways;
}

/// The size of the messages that an algorithm sends, before they are cut.
double message_bytes(const Question& question, const Limits& limits, Algorithm algorithm) {
  const auto m = static_cast<double>(question.bytes);
  const bool is_shared = algorithm == Algorithm::blocks || question.kind == Kind::allgatherv ||
                         question.kind == Kind::reduce_scatter ||
                         (algorithm == Algorithm::ring && question.kind == Kind::allreduce);
  return is_shared ? m / limits.size : m;
}

double seconds_of(const std::pair<Algorithm, Method>& way, const Question& question, const Limits& limits,
                  const Costs& costs) {
  const double message = message_bytes(question, limits, way.first), longest = static_cast<double>(limits.eager_max);
  const bool asks = way.first == Algorithm::ring || message > longest;
  return cost::seconds(way.second, costs, std::min(message, longest)) + (asks ? costs.trip_s : 0);
}

std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace

std::string_view to_string(Algorithm algorithm) noexcept {
  constexpr std::string_view kNames[kAlgorithms] = {"doubling", "ring", "binomial", "exchange", "blocks"};
  const auto index = static_cast<std::size_t>(algorithm);
  return index < std::size(kNames) ? kNames[index] : "?";
}

Algorithm choose(const Question& question, const Limits& limits, const Costs& costs) {
  if (limits.size == 1) return Algorithm::exchange;
  const Ways ways = ways_of(question, limits);
  double least = 0;
  Algorithm best = Algorithm::exchange;
  for (std::size_t i = 0; i < ways.count; ++i) {
    const double seconds = seconds_of(ways.ways[i], question, limits, costs);
    if (i > 0 && seconds >= least) continue;
    least = seconds;
    best = ways.ways[i].first;
  }
  // A ring is always the first one.
  const auto& first = ways.ways[0];
  const bool is_same = seconds_of(first, question, limits, costs) <= kSameBound * least;
  return first.first == Algorithm::ring && is_same ? Algorithm::ring : best;
}

std::vector<Candidate> candidates(const Question& question, const Limits& limits, const Costs& costs) {
  if (limits.size == 1) return {{Algorithm::exchange, 0}};
  std::vector<Candidate> found;
  const Ways ways = ways_of(question, limits);
  for (std::size_t i = 0; i < ways.count; ++i)
    found.push_back({ways.ways[i].first, seconds_of(ways.ways[i], question, limits, costs)});
  const Algorithm best = choose(question, limits, costs);
  std::ranges::sort(found, [&](const Candidate& a, const Candidate& b) {
    return std::pair(a.algorithm != best, a.seconds) < std::pair(b.algorithm != best, b.seconds);
  });
  return found;
}

std::string explain(const Question& question, const Limits& limits, const Costs& costs) {
  const auto all = candidates(question, limits, costs);
  std::string text = fmt::format("{} of {} bytes: {}, at least {}", to_string(question.kind), question.bytes,
                                 to_string(all[0].algorithm), time_text(all[0].seconds));
  for (std::size_t i = 1; i < all.size(); ++i)
    text += fmt::format("{}{} {}", i == 1 ? " (" : ", ", to_string(all[i].algorithm), time_text(all[i].seconds));
  return all.size() > 1 ? text + ")" : text;
}

}  // namespace sumac::p2p
