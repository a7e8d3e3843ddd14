#pragma once
// What is known of the two ways of large messages (timed.cpp): for explain, and from one group of a pair of processes to the next, since
// a program may make thousands of communicators of the same two ranks.
#include <string>

#include "shm/group.hpp"

namespace sumac::shm {

/// What this process, as the first member of pairs, has found out with another one.
Decisions::Known known_of(const ProcessName& other);

/// The algorithm behind kTimed for calls of so many bytes, once the times have decided; nullptr before.
const Algorithm* decided(const Group& group, coll::Kind kind, std::size_t bytes) noexcept;
/// Both ways' times, in words; empty before.
std::string about_decision(const Group& group, coll::Kind kind, std::size_t bytes);

}  // namespace sumac::shm
