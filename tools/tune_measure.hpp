#pragma once
// Times of the real algorithms of src/shm on this machine: ranks are forked, share a segment as the ranks of a job do, and
// let all algorithms of a collective take turns at each size.
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "coll/operation.hpp"
#include "tools/tune_plan.hpp"

namespace sumac::tools {

inline constexpr int kTunedRanksMax = 64;

struct TunedTeam {
  int ranks = 2;
  bool crowded = false;  ///< More ranks than cores: they yield instead of spinning.
};

struct TeamTimes {
  std::vector<std::pair<coll::Kind, Curves>> collectives;  ///< Those that have a choice.
  double round_trip_ns = 0;  ///< Of a cache line between the first two ranks; 0 where they share cores.
};

/// Teams worth measuring where a job has so many cores.
std::vector<TunedTeam> tuned_teams(int cores);

/// `progress` gets the share done, 0 to 1. Errc::interrupted as soon as `stop` is set; no process is left in any case.
Result<TeamTimes> measure_team(const TunedTeam& team, double cpus, const std::function<void(double)>& progress,
                               const std::atomic<bool>& stop);

}  // namespace sumac::tools
