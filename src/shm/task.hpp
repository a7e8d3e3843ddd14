#pragma once
// The execution of one operation. A blocking caller uses run(). Other callers use prepare(), then advance() until the
// result is not `waiting`; an operation may lie anywhere and may be prepared again (persistent requests). The
// operations of a group are advanced one after the other, in the order in which every member posts them: a younger one
// only after the older one is done.
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
  std::uint32_t polls;  ///< The number of times a step may poll before it returns `waiting`.
  std::uint32_t idle;   ///< The number of times that advance() has found nothing to do.
  bool has_moved;       ///< A step returned `waiting`, but it has copied some data.
  bool is_elsewhere;    ///< A step that returned `waiting` sets this if all members it waits for run on other cores.

  // ---- Of a trial (trial.hpp), set when it begins.
  std::uint64_t looked_ns;  ///< When the last step of an operation that its caller drives was over.
  std::uint64_t away_ns;    ///< The longest time that has passed between two such steps.

  // ---- The algorithm's own, zero at the beginning.
  std::uint32_t phase;
  std::int32_t peer;     ///< The member that is waited for.
  std::uint64_t round;   ///< The current round.
  std::size_t offset;    ///< The number of bytes that are done.
  std::uint64_t own[8];  ///< Free for the algorithm; start_over() sets all to zero.
};

/// Picks the algorithm. `operation` is kept by address.
void prepare(Group& group, const coll::Operation& operation, Task& task) noexcept;

/// In a broken group advance() fails, or it first takes what the others published before the group broke. Only a member
/// whose part is in may take it: otherwise the others would have a result with the part of a member that failed.
enum class WhenBroken : std::uint8_t { fails, takes_results };
/// Returns true if the operation's own part may be in.
inline bool has_begun(const Task& task) noexcept { return task.phase != 0 || task.idle != 0; }

/// Does one step and never blocks. After `done` it may be called again and returns `done` again.
Step advance(Task& task, WhenBroken when_broken = WhenBroken::fails) noexcept;

/// Blocks until the prepared operation (untouched or partly advanced) is done. Returns Errc::lost or the like if the
/// group broke; error() of the group gives the reason.
Errc wait(Task& task) noexcept;

/// Does prepare() and wait() in one: this is the hot path.
Errc run(Group& group, const coll::Operation& operation) noexcept;

}  // namespace sumac::shm
