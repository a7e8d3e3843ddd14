#pragma once
// The waiting of a rank. With a core of its own it polls again at once; with more ranks than cores it yields at once,
// because the rank it waits for may need the core. After a while it yields in both cases, and after milliseconds it
// sleeps, never longer than 1 ms and never longer than a small part of the time it has already waited. A rank that
// waits long also drives the MPI (`progress`), because the rank it waits for may be in a send that needs this rank.
#include <cstdint>

#include "base/clock.hpp"

namespace sumac::shm {

struct Waiting {
  int ranks_on_host = 1;              ///< All ranks of the job on this host, not only those of the group.
  double cpus = 1;                    ///< The processors really available to them: affinity and cgroup quota.
  bool spreads = true;                ///< A rank may move to another core if its own has too many ranks (crowd.hpp).
  void (*progress)(void*) = nullptr;  ///< Drives the caller's MPI; may call back into other operations.
  void* context = nullptr;

  bool crowded() const { return static_cast<double>(ranks_on_host) > cpus; }
};

/// The number of times that a step may poll before it returns `waiting` to a blocking caller.
inline constexpr std::uint32_t kPollsAlone = 400;
inline constexpr std::uint32_t kPollsCrowded = 1;
/// The number of times that a rank on a crowded host polls before it yields, if the ranks it waits for are on other
/// cores (about 5 us).
inline constexpr std::uint32_t kLooksElsewhere = 128;

/// One wait. The caller calls pause() each time a step returned without an end.
class Patience {
 public:
  explicit Patience(const Waiting& waiting) noexcept : waiting_(waiting) {}

  /// Returns true when it is time to check whether all members are still alive (about every 10 ms).
  bool pause() noexcept;

  /// The actions of one pause once the clock is read, in this order; a crowded rank has already yielded before.
  struct Plan {
    bool drives_mpi = false;
    Duration sleep{};
    bool yields = false;
    bool looks = false;  ///< The value that pause() returns.
  };
  /// Makes all decisions of pause() and stores them; it neither reads the clock nor acts.
  Plan plan(Time now) noexcept;

 private:
  const Waiting& waiting_;
  std::uint32_t rounds_ = 0;
  Time began_{};
  Time progressed_{};
  Time looked_{};
};

}  // namespace sumac::shm
