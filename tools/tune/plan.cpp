#include "tools/tune/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sumac::tools {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1.2;

double cost(const Curves& measured, std::size_t size, std::size_t curve) {
  const double ns = measured.curves[curve].ns[size];
  if (ns <= 0) return kNever;
  return std::log(ns) + (curve == measured.built_in[size] ? 0 : std::log(kWorth));
}

double time_at(const Curves& measured, const std::vector<std::size_t>& chosen, std::size_t size) {
  return measured.curves[chosen[size]].ns[size];
}

}  // namespace

std::vector<std::size_t> choose(const Curves& measured, std::size_t steps_max) {
  // Finds the cheapest sequence over all sizes: best[k][c] is the cheapest one of the sizes so far that ends with curve
  // c in its k-th run.
  const std::size_t sizes = measured.bytes.size(), curves = measured.curves.size();
  if (sizes == 0 || curves == 0) return measured.built_in;
  struct Way {
    double cost = kNever;
    std::size_t run = 0, curve = 0;  ///< The predecessor of this entry.
  };
  std::vector<std::vector<std::vector<Way>>> best(sizes,
                                                  std::vector<std::vector<Way>>(steps_max, std::vector<Way>(curves)));
  for (std::size_t c = 0; c < curves; ++c) best[0][0][c].cost = cost(measured, 0, c);
  for (std::size_t s = 1; s < sizes; ++s) {
    for (std::size_t k = 0; k < steps_max; ++k) {
      for (std::size_t c = 0; c < curves; ++c) {
        Way& way = best[s][k][c];
        const double own = cost(measured, s, c);
        const auto take = [&](std::size_t run, std::size_t from, double change) {
          const double total = best[s - 1][run][from].cost + own + change;
          if (total < way.cost) way = {total, run, from};
        };
        take(k, c, 0);
        for (std::size_t from = 0; k > 0 && from < curves; ++from) {
          if (from == c) continue;
          const bool built_in = measured.built_in[s - 1] == from && measured.built_in[s] == c;
          take(k - 1, from, built_in ? 0 : std::log(kWorth));
        }
      }
    }
  }
  std::size_t run = 0, curve = 0;
  for (std::size_t k = 0; k < steps_max; ++k)
    for (std::size_t c = 0; c < curves; ++c)
      if (best[sizes - 1][k][c].cost < best[sizes - 1][run][curve].cost) run = k, curve = c;
  if (best[sizes - 1][run][curve].cost == kNever) return measured.built_in;
  std::vector<std::size_t> chosen(sizes);
  for (std::size_t s = sizes; s-- > 0;) {
    chosen[s] = curve;
    const Way& way = best[s][run][curve];
    run = way.run, curve = way.curve;
  }
  return chosen;
}

std::vector<Step> steps_of(const Curves& measured, const std::vector<std::size_t>& chosen) {
  std::vector<Step> steps;
  if (chosen == measured.built_in) return steps;
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    if (s > 0 && chosen[s] == chosen[s - 1]) continue;
    steps.push_back({s == 0 ? 0 : measured.bytes[s - 1] + 1, measured.curves[chosen[s]].algorithm});
  }
  return steps;
}

std::vector<Change> changes_of(const Curves& measured, const std::vector<std::size_t>& chosen) {
  std::vector<Change> changes;
  double logs = 0;
  std::size_t count = 0;
  for (std::size_t s = 0; s < chosen.size(); ++s) {
    if (chosen[s] == measured.built_in[s]) {
      count = 0;
      continue;
    }
    const std::string& from = measured.curves[measured.built_in[s]].algorithm;
    const std::string& to = measured.curves[chosen[s]].algorithm;
    if (count == 0 || changes.back().from != from || changes.back().to != to) {
      changes.push_back({measured.bytes[s], measured.bytes[s], from, to, 1});
      logs = 0, count = 0;
    }
    logs += std::log(measured.curves[measured.built_in[s]].ns[s] / time_at(measured, chosen, s));
    count += 1;
    changes.back().last_bytes = measured.bytes[s];
    changes.back().faster = std::exp(logs / static_cast<double>(count));
  }
  return changes;
}

std::vector<Cliff> cliffs_of(const Curves& measured, const std::vector<std::size_t>& chosen) {
  std::vector<Cliff> cliffs;
  for (std::size_t s = 1; s < chosen.size(); ++s) {
    const double ratio = time_at(measured, chosen, s) / time_at(measured, chosen, s - 1);
    const double growth = static_cast<double>(measured.bytes[s]) / static_cast<double>(measured.bytes[s - 1]);
    if (ratio * kTolerance < 1 || (chosen[s] != chosen[s - 1] && ratio > kTolerance * growth))
      cliffs.push_back({measured.bytes[s - 1], measured.bytes[s], ratio});
  }
  return cliffs;
}

}  // namespace sumac::tools
