#pragma once
// Measures the real algorithms of src/shm on this machine: ranks are forked, share a segment like the ranks of a job,
// and alternate between all algorithms of a collective at each size.
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "coll/operation.hpp"
#include "tools/tune/plan.hpp"

namespace sumac::tools {

inline constexpr int kTunedRanksMax = 64;

struct TunedTeam {
  int ranks = 2;
  bool crowded = false;  ///< More ranks than cores: they yield instead of spinning.
};

struct TeamTimes {
  std::vector<std::pair<coll::Kind, Curves>> collectives;  ///< The collectives that have a choice.
  double round_trip_ns = 0;  ///< The time of a cache line between the first two ranks; 0 if they share cores.
};

/// Returns the teams worth measuring if a job has so many cores.
std::vector<TunedTeam> tuned_teams(int cores);

/// `progress` gets the fraction done, 0 to 1. Returns Errc::interrupted as soon as `stop` is set; in every case no
/// process is left.
Result<TeamTimes> measure_team(const TunedTeam& team, double cpus, const std::function<void(double)>& progress,
                               const std::atomic<bool>& stop);

}  // namespace sumac::tools
