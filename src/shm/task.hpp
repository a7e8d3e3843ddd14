#pragma once
// Doing a call. Blocking: run(). Otherwise prepare(), then advance() until it is not `waiting`; an operation may lie
// anywhere and be prepared again (persistent requests). Operations of a group are advanced one after the other, in the
// order in which every member posts them: a younger one only after the older one is done.
#include <cstddef>
#include <cstdint>

#include "base/result.hpp"
#include "coll/operation.hpp"
#include "shm/algorithms.hpp"
#include "shm/group.hpp"

namespace sumac::shm {

struct Task {
  Group* group;
  const coll::Operation* operation;  ///< Must live until the operation is done.
  const Algorithm* algorithm;
  std::uint32_t polls;  ///< How often a step may look for something before it returns `waiting`.
  std::uint32_t idle;   ///< advance() has found nothing so many times.
  bool has_moved;       ///< A step came back `waiting`, but some data has changed its place.
  bool is_elsewhere;    ///< Said by a step that came back `waiting`: all whom it misses are on other cores.

  // ---- The algorithm's own, zero at the beginning.
  std::uint32_t phase;
  std::int32_t peer;     ///< The member waited for.
  std::uint64_t round;   ///< The round in hand.
  std::size_t offset;    ///< Bytes behind us.
  std::uint64_t own[8];  ///< Anything; only prepare() of an algorithm that is not `flat` clears it.
};

/// Picks the algorithm. `call` is kept by address.
void prepare(Group& group, const coll::Operation& operation, Task& task) noexcept;

/// One step; never blocks. After `done` it may be called again and says `done` again.
Step advance(Task& task) noexcept;

/// Blocks until the prepared operation (not yet advanced, or in the middle) is done. Errc::lost and the like: the group's
/// error().
Errc wait(Task& task) noexcept;

/// prepare() and wait() in one: the hot path.
Errc run(Group& group, const coll::Operation& operation) noexcept;

}  // namespace sumac::shm
