#include "p2p/choose.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace sumac::p2p {
namespace {

using coll::Kind;

/// The ring is chosen where bounds differ by less: it has one flow on each link in each direction, so it keeps its
/// bound where switches are narrower than the sum of their ports, or their buffers small.
constexpr double kSameBound = 1.05;

/// A bound: trips one after the other, further messages at the busiest member, bytes on its link, and those of them that
/// members send across each other's ways.
struct Bound {
  double trips = 0, messages = 0, bytes = 0, mesh_bytes = 0;
  /// `first_bytes`: the part of a trip's message that arrives only as fast as a short message does.
  double at(const Costs& costs, double first_bytes) const {
    const double late_s = first_bytes * std::max(0.0, costs.short_byte_s - costs.per_byte_s);
    return trips * (costs.trip_s + late_s) + messages * costs.message_s + bytes * costs.per_byte_s +
           mesh_bytes * std::max(costs.mesh_byte_s, costs.per_byte_s);
  }
};

class Bounds {
 public:
  Bounds(const Question& question, const Limits& limits)
      : n_(limits.size), bytes_(static_cast<double>(question.bytes)), rounds_(std::bit_width(limits.size - 1)) {}

  /// The last rank has the smallest blocks of the canonical tree, so it sends the most messages.
  Bound doubling() const {
    Bound bound;
    coll::RankBlock mine{n_ - 1, 1};
    for (auto other = sibling(mine, n_); other; other = sibling(mine, n_)) {
      const double sends = static_cast<double>(coll::divide_up(other->count, mine.count));
      bound.trips += 1;
      bound.messages += sends - 1;
      bound.mesh_bytes += sends * bytes_;
      mine = joined(mine, *other);
    }
    return bound;
  }
  Bound rounds_with(double bytes) const { return {rounds_, 0, bytes}; }
  /// One member sends to all or receives from all, so its own link is the narrowest.
  Bound star(double bytes) const { return {1, n_ - 2.0, bytes}; }
  Bound mesh(double bytes) const { return {1, n_ - 2.0, 0, bytes}; }
  Bound around(double times, double bytes) const { return {times * (n_ - 1), 0, bytes}; }
  double others() const { return (n_ - 1.0) / n_; }
  double rounds() const { return rounds_; }
  double all_but_one() const { return n_ - 1.0; }
  double bytes() const { return bytes_; }

 private:
  std::uint32_t n_;
  double bytes_, rounds_;
};

Bound operator*(double times, Bound bound) {
  return {times * bound.trips, times * bound.messages, times * bound.bytes, times * bound.mesh_bytes};
}

struct Ways {
  std::array<std::pair<Algorithm, Bound>, kAlgorithms> ways;
  std::size_t count = 0;
  void add(Algorithm algorithm, Bound bound) { ways[count++] = {algorithm, bound}; }
};

Ways ways_of(const Question& question, const Limits& limits) {
  const Bounds b(question, limits);
  const bool may_ring = question.commutes && !limits.reproducible;
  const double m = b.bytes();
  Ways ways;
  switch (question.kind) {
    case Kind::barrier:
      ways.add(Algorithm::doubling, b.rounds_with(0));
      ways.add(Algorithm::exchange, b.mesh(0));
      break;
    case Kind::allreduce:
      if (may_ring) ways.add(Algorithm::ring, b.around(2, 2 * b.others() * m));
      ways.add(Algorithm::doubling, b.doubling());
      ways.add(Algorithm::exchange, b.mesh(b.all_but_one() * m));
      ways.add(Algorithm::blocks, 2 * b.mesh(b.others() * m));
      break;
    case Kind::reduce:
      ways.add(Algorithm::binomial, b.rounds_with(b.rounds() * m));
      ways.add(Algorithm::exchange, b.star(b.all_but_one() * m));
      break;
    case Kind::bcast:
      ways.add(Algorithm::ring, b.around(1, m));
      ways.add(Algorithm::binomial, b.rounds_with(b.rounds() * m));
      ways.add(Algorithm::exchange, b.star(b.all_but_one() * m));
      break;
    case Kind::allgather:
      ways.add(Algorithm::ring, b.around(1, b.all_but_one() * m));
      ways.add(Algorithm::exchange, b.mesh(b.all_but_one() * m));
      break;
    case Kind::allgatherv:
      ways.add(Algorithm::ring, b.around(1, b.others() * m));
      ways.add(Algorithm::exchange, b.mesh(b.others() * m));
      break;
    case Kind::reduce_scatter_block:
      if (may_ring) ways.add(Algorithm::ring, b.around(1, b.all_but_one() * m));
      ways.add(Algorithm::exchange, b.mesh(b.all_but_one() * m));
      break;
    case Kind::gather:
    case Kind::scatter:
      ways.add(Algorithm::binomial, b.rounds_with(b.all_but_one() * m));
      ways.add(Algorithm::exchange, b.star(b.all_but_one() * m));
      break;
    case Kind::alltoall:
    case Kind::alltoallv:
    case Kind::gatherv:
    case Kind::scatterv: ways.add(Algorithm::exchange, b.mesh(b.all_but_one() * m)); break;
  }
  return ways;
}

/// The size of the messages that an algorithm sends, before they are cut.
double message_bytes(const Question& question, const Limits& limits, Algorithm algorithm) {
  const auto m = static_cast<double>(question.bytes);
  const bool is_shared = algorithm == Algorithm::blocks || question.kind == Kind::allgatherv ||
                         (algorithm == Algorithm::ring && question.kind == Kind::allreduce);
  return is_shared ? m / limits.size : m;
}

double seconds_of(const std::pair<Algorithm, Bound>& way, const Question& question, const Limits& limits,
                  const Costs& costs) {
  const double message = message_bytes(question, limits, way.first), longest = static_cast<double>(limits.eager_max);
  const bool asks = way.first == Algorithm::ring || message > longest;
  return way.second.at(costs, std::min(message, longest)) + (asks ? costs.trip_s : 0);
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
