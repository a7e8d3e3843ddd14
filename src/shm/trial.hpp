#pragma once
// A trial of one of two ways (coll/decision.hpp) as the beginning of an operation: every member tells how long its last
// trial took, and then the clock runs until the operation is complete. The slowest member's time counts, so all members
// record the same number and need no other agreement. Only this folder includes this header.
#include "coll/decision.hpp"
#include "shm/task.hpp"

namespace sumac::shm {

enum class Trial : std::uint8_t {
  meeting,  ///< Not every member has told its time: call meet() again.
  decided,  ///< The times have decided: the operation goes the better way.
  untimed,  ///< This operation does not count: it goes the better way that is known.
  begun     ///< The clock runs: try_out() does the operation.
};

/// Called from phase 0 of the operation on, by every member, until it returns something else than `meeting`; then the task
/// is as at its beginning. `counts`: whether this member would count the operation; one that says no is enough.
Trial meet(Task& task, coll::Decision& decision, bool counts) noexcept;

/// Has meet() begun a trial in this operation?
bool is_on_trial(const Task& task) noexcept;

/// Does the time of an operation that its caller drives count? It took `took_ns`, and for at most `away_ns` nobody looked at it.
/// A caller that polls until it is done looks again at once; one that computes meanwhile would be timed itself.
constexpr bool was_watched(std::uint64_t took_ns, std::uint64_t away_ns) noexcept { return away_ns <= took_ns / 8; }

/// Does one step of the algorithm that is timed. If it has replaced itself by another one, its time does not count.
Step try_out(Task& task, const Algorithm& algorithm, coll::Decision& decision);

}  // namespace sumac::shm
