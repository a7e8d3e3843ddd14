#pragma once
// Access to the measured times of large messages (timed.cpp): for explain, and to pass them from one group of a pair of
// processes to the next, since a program may make thousands of communicators of the same two ranks.
#include <string>

#include "shm/group.hpp"

namespace sumac::shm {

/// Returns what this process, as the first member of pairs, has measured with `other`.
Decisions::Known known_of(const ProcessName& other);

/// Returns the algorithm that kTimed uses for calls of `bytes` once the times have decided; nullptr before.
const Algorithm* decided(const Group& group, coll::Kind kind, std::size_t bytes) noexcept;
/// Returns the algorithm itself if it moves data through shared memory; of kTimed the one that does; nullptr of single
/// copy.
const Algorithm* through_memory(const Algorithm& algorithm) noexcept;
/// Returns the times of both methods in words; empty before the decision.
std::string about_decision(const Group& group, coll::Kind kind, std::size_t bytes);

}  // namespace sumac::shm
