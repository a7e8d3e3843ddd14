#pragma once
// The search that every explorer makes: all orders of a world's events, level by level.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/seen.hpp"

namespace sumac::sim {

template <class Step>
struct Found {
  std::size_t states = 0, steps = 0, depth = 0, ends = 0;
  bool is_whole = true;   ///< Everything was tried.
  std::string wrong;      ///< Empty: nothing.
  std::vector<Step> way;  ///< A shortest one to what is wrong.
};

/// Tries at most `most` states. A World is a value with hash(), each_step(use), which calls use(step) or use(step, is_due) for all that may
/// happen next, and apply(step), which returns what is wrong then. `look(world, is_end)` returns what is wrong with a world as it is;
/// is_end: nothing is due there.
template <class Step, class World>
Found<Step> search(World first, std::size_t most, auto&& look) {
  struct Origin {
    std::uint32_t from = 0;
    Step step;
  };
  struct Reached {
    World world;
    std::uint32_t origin;
  };
  Found<Step> found;
  Seen seen;
  std::vector<Origin> origins{{}};
  std::vector<Reached> level{{std::move(first), 0}}, next;
  seen.insert(level[0].world.hash());
  std::uint32_t last = 0;
  std::optional<Step> last_step;
  for (; !level.empty() && found.wrong.empty() && found.is_whole; ++found.depth) {
    next.clear();
    for (const Reached& here : level) {
      bool is_end = true;
      here.world.each_step([&](Step step, auto... is_due) {
        if (!found.wrong.empty()) return;
        is_end = is_end && !(is_due && ...);
        ++found.steps;
        World after = here.world;
        found.wrong = after.apply(step);
        if (!found.wrong.empty()) {
          last_step = step;
        } else if (seen.insert(after.hash())) {
          origins.push_back({here.origin, step});
          next.push_back({std::move(after), static_cast<std::uint32_t>(origins.size() - 1)});
        }
      });
      if (found.wrong.empty()) {
        found.ends += is_end ? 1 : 0;
        found.wrong = look(here.world, is_end);
      }
      last = here.origin;
      if (!found.wrong.empty()) break;
    }
    level.swap(next);
    found.is_whole = origins.size() <= most;
  }
  found.states = origins.size();
  if (found.wrong.empty()) return found;
  for (; last != 0; last = origins[last].from) found.way.push_back(origins[last].step);
  std::reverse(found.way.begin(), found.way.end());
  if (last_step) found.way.push_back(*last_step);
  return found;
}

}  // namespace sumac::sim
