#pragma once
// From times to choices, pure: which algorithm serves which sizes, where that differs from the built-in choice enough to be
// worth a line in a file, and where time jumps between neighbouring sizes.
#include <cstddef>
#include <string>
#include <vector>

namespace sumac::tools {

/// One algorithm of a collective at all sizes; 0: not to be had at that size.
struct Curve {
  std::string algorithm;
  std::vector<double> ns;
};

/// A collective in a team of some size, measured.
struct Curves {
  std::vector<std::size_t> bytes;  ///< Ascending.
  std::vector<Curve> curves;
  std::vector<std::size_t> built_in;  ///< [size] Index into `curves`.
};

/// From `from_bytes` on. Sizes up to the measured one before it keep what they had.
struct Step {
  std::size_t from_bytes = 0;
  std::string algorithm;
  bool operator==(const Step&) const = default;
};

/// A choice must be so much faster than the built-in one, and a change of algorithm so much worth it, to be made: noise is
/// no reason.
inline constexpr double kWorth = 1.05;

/// [size] Index into `curves`: least time over all sizes, at most `steps_max` runs of one algorithm.
std::vector<std::size_t> choose(const Curves& measured, std::size_t steps_max);

/// The same as steps; empty if it is the built-in choice everywhere.
std::vector<Step> steps_of(const Curves& measured, const std::vector<std::size_t>& chosen);

struct Change {
  std::size_t first_bytes = 0, last_bytes = 0;
  std::string from, to;
  double faster = 1;  ///< Geometric mean over its sizes.
};
std::vector<Change> changes_of(const Curves& measured, const std::vector<std::size_t>& chosen);

/// Neighbouring sizes where the larger takes less than 1 / 1.2 of the smaller's time; or, where one algorithm hands over to
/// the next, more than 1.2 times what its size accounts for (within one algorithm that is a cache that has become too small).
struct Cliff {
  std::size_t smaller = 0, larger = 0;
  double ratio = 1;  ///< Time of the larger by that of the smaller.
};
std::vector<Cliff> cliffs_of(const Curves& measured, const std::vector<std::size_t>& chosen);

}  // namespace sumac::tools
