#pragma once
// Chooses algorithms from times. It is pure: it computes which algorithm serves which sizes, where that differs enough
// from the built-in choice to be worth a line in a file, and where time jumps between neighbouring sizes.
#include <cstddef>
#include <string>
#include <vector>

namespace sumac::tools {

/// The times of one algorithm of a collective at all sizes; 0: it is not available at that size.
struct Curve {
  std::string algorithm;
  std::vector<double> ns;
};

/// The measurements of a collective in a team of some size.
struct Curves {
  std::vector<std::size_t> bytes;  ///< Ascending.
  std::vector<Curve> curves;
  std::vector<std::size_t> built_in;  ///< [size] Index into `curves`.
};

/// An algorithm from `from_bytes` on. Sizes up to the measured size before it keep their algorithm.
struct Step {
  std::size_t from_bytes = 0;
  std::string algorithm;
  bool operator==(const Step&) const = default;
};

/// To be made, a choice must be faster than the built-in one by this factor, and so must a change of algorithm: smaller
/// differences are noise.
inline constexpr double kWorth = 1.05;

/// Returns for each size an index into `curves`: the least time over all sizes, with at most `steps_max` runs of one
/// algorithm.
std::vector<std::size_t> choose(const Curves& measured, std::size_t steps_max);

/// Returns the same as steps; empty if it is the built-in choice everywhere.
std::vector<Step> steps_of(const Curves& measured, const std::vector<std::size_t>& chosen);

struct Change {
  std::size_t first_bytes = 0, last_bytes = 0;
  std::string from, to;
  double faster = 1;  ///< The geometric mean over its sizes.
};
std::vector<Change> changes_of(const Curves& measured, const std::vector<std::size_t>& chosen);

/// Neighbouring sizes where the larger takes less than 1 / 1.2 of the smaller's time; or, where one algorithm follows
/// another, more than 1.2 times the time that its size explains (within one algorithm, such a jump is a cache that has
/// become too small).
struct Cliff {
  std::size_t smaller = 0, larger = 0;
  double ratio = 1;  ///< The time of the larger divided by that of the smaller.
};
std::vector<Cliff> cliffs_of(const Curves& measured, const std::vector<std::size_t>& chosen);

}  // namespace sumac::tools
