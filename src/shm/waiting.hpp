#pragma once
// What a rank does while it has nothing to do: it looks again at once as long as it has a core of its own; with more ranks
// than cores it gives the core away at once, for whom it waits for may need it. After a while both yield, after
// milliseconds both sleep, never longer than 1 ms and never longer than a small part of what they have waited already.
// Whoever waits long drives the MPI as well (`progress`): the rank it waits for may be in a send that needs us.
#include <cstdint>

#include "base/clock.hpp"

namespace sumac::shm {

struct Waiting {
  int ranks_on_host = 1;              ///< All ranks of the job on this host, not only those of the group.
  double cpus = 1;                    ///< Really available to them: affinity, cgroup quota.
  bool spreads = true;                ///< A rank may move to another core where its own has too many (crowd.hpp).
  void (*progress)(void*) = nullptr;  ///< Drives the caller's MPI; may call back into other operations.
  void* context = nullptr;

  bool crowded() const { return static_cast<double>(ranks_on_host) > cpus; }
};

/// How often a step may look before it returns `waiting` to a blocking caller.
inline constexpr std::uint32_t kPollsAlone = 400;
inline constexpr std::uint32_t kPollsCrowded = 1;
/// How often a rank among too many looks before it gives the core away, if whom it waits for is on other cores (some 5 us).
inline constexpr std::uint32_t kLooksElsewhere = 128;

/// One wait. pause() is called each time a step came back without an end.
class Patience {
 public:
  explicit Patience(const Waiting& waiting) noexcept : waiting_(waiting) {}

  /// True if it is time to look whether everybody is still alive (about every 10 ms).
  bool pause() noexcept;

  /// What a pause consists of once the clock is looked at, in this order; who is crowded has given the core away before.
  struct Plan {
    bool drives_mpi = false;
    Duration sleep{};
    bool yields = false;
    bool looks = false;  ///< What pause() returns.
  };
  /// All that pause() decides; it keeps what was decided, and neither reads the clock nor does anything.
  Plan plan(Time now) noexcept;

 private:
  const Waiting& waiting_;
  std::uint32_t rounds_ = 0;
  Time began_{};
  Time progressed_{};
  Time looked_{};
};

}  // namespace sumac::shm
