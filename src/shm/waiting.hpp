#pragma once
// The waiting of a rank for other ranks of its host (waits::kAlone and kCrowded have the limits). A rank that waits
// long also drives the MPI (`progress`), because the rank it waits for may be in a send that needs this rank.
#include <cstdint>

#include "base/wait_policy.hpp"

namespace sumac::shm {

/// The facts about this host and this job that decide how a rank waits.
struct WaitSettings {
  int ranks_on_host = 1;              ///< All ranks of the job on this host, not only those of the group.
  double cpus = 1;                    ///< The processors really available to them: affinity and cgroup quota.
  bool caller_yields = false;         ///< The caller's own waits yield, so its user knows of others who want the cores.
  bool spreads = true;                ///< A rank may move to another core if its own has too many ranks (crowd.hpp).
  bool sleeps_long = false;           ///< The caller has no communication of its own that a long sleep would hold up.
  void (*progress)(void*) = nullptr;  ///< Drives the caller's MPI; may call back into other operations.
  void* context = nullptr;

  bool crowded() const { return is_crowded(ranks_on_host, cpus); }
  bool yields_first() const { return caller_yields || crowded(); }
};

/// One wait. The caller calls pause() each time a step returned without an end.
class RankWait {
 public:
  explicit RankWait(const WaitSettings& settings) noexcept
      : settings_(settings), policy_(waits::in_host(settings.yields_first()), settings.sleeps_long) {}

  bool yields_first() const noexcept { return policy_.yields_first(); }
  /// Call it when a step has moved data without coming to its end: from there on the rank waits for the next.
  void moved() noexcept { policy_.moved(); }
  /// Returns true when it is time to check whether all members are still alive (about every 10 ms).
  bool pause() noexcept;

 private:
  const WaitSettings& settings_;
  std::uint32_t rounds_ = 0;
  BackoffPolicy policy_;
};

}  // namespace sumac::shm
