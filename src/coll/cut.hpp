#pragma once
// Cuts a large operation into parts, by plain arithmetic. Every member must get the same parts, so the result depends
// on the arguments alone. The callers differ in their limits:
//   fragment  a message of the tree: as many elements as fit (src/proto)
//   chunk     one pass through a team's schedule: a size from the settings, in whole cache lines (src/team)
//   turn      one use of a ring in shared memory: equal parts, because a small rest would cost a turn of its own (src/shm)
//   stripe    the share of one of several trees: in proportion to their rates, and therefore cut by share_end()
//             (src/client)
// Sizes may be bytes or elements. No result overflows, whatever the size.
#include <algorithm>
#include <cstdint>

namespace sumac::coll {

struct CutLimits {
  std::uint64_t most = 1;  ///< The largest size of a part. If it is smaller than a unit, a part is one unit.
  std::uint64_t unit = 1;  ///< Every part but the last is a multiple of it.
  /// False: every part but the last is as large as the limit allows, and a total within the limit is not cut. True: the
  /// parts are as equal as the unit allows, and their step is a multiple of the unit even where there is one part only,
  /// so that other data can follow it.
  bool is_even = false;
};

constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) noexcept {
  return value / by + (value % by != 0 ? 1 : 0);
}

/// Returns the largest of `parts` nearly equal parts of `total`, each a whole number of units but the last.
constexpr std::uint64_t even_step(std::uint64_t total, std::uint64_t parts, std::uint64_t unit) noexcept {
  return divide_up(divide_up(total, parts), unit) * unit;
}

/// Returns the size of the part at `from` if a total is cut in steps: nothing if the total ends before.
constexpr std::uint64_t part_at(std::uint64_t from, std::uint64_t total, std::uint64_t step) noexcept {
  return from >= total ? 0 : std::min(step, total - from);
}

/// The parts of an operation: part i begins at i * step.
struct Cut {
  std::uint64_t total = 0;
  std::uint64_t step = 1;   ///< The distance from one part to the next; never 0.
  std::uint64_t count = 0;  ///< 0 if there is nothing to cut.

  constexpr std::uint64_t from(std::uint64_t part) const noexcept { return part * step; }
  constexpr std::uint64_t size(std::uint64_t part) const noexcept { return part_at(from(part), total, step); }
};

constexpr Cut cut(std::uint64_t total, const CutLimits& limits) noexcept {
  if (total == 0) return {0, limits.unit, 0};
  const std::uint64_t most = std::max(limits.most / limits.unit, std::uint64_t{1}) * limits.unit;
  std::uint64_t step = total <= std::max(limits.most, most) ? total : most;
  if (limits.is_even) step = even_step(total, divide_up(total, most), limits.unit);
  return {total, step, divide_up(total, step)};
}

/// Returns the end of a part if a total is shared in proportion to weights: `weight` is the sum of this part's weight
/// and of those before it, `weights` the sum of all. The end is a multiple of the unit, or the total.
constexpr std::uint64_t share_end(std::uint64_t total, std::uint64_t unit, std::uint64_t weight,
                                  std::uint64_t weights) noexcept {
  const std::uint64_t units = divide_up(total, unit);
  const auto end = static_cast<std::uint64_t>((static_cast<unsigned __int128>(weight) * units + weights / 2) / weights);
  return end >= units ? total : end * unit;
}

}  // namespace sumac::coll
