#pragma once
// Is a process of this host still alive? Only a member that has waited for milliseconds asks, so the descriptor (pidfd)
// is opened at the first question and shared by all teams of this process.
#include "shm/segment/segment.hpp"

namespace sumac::shm {

enum class Life : std::uint8_t {
  alive,
  dead,
  unknown,  ///< The kernel has no pidfd, or refused the lock, so nobody can know.
};

/// Asks by pidfd. Life::unknown also for a process in another PID namespace.
Life look_at(const ProcessName& process);
/// The same for a member of a segment; in another PID namespace, by the lock that it holds (Segment::life_lock()).
Life look_at(const Segment& segment, int member);

}  // namespace sumac::shm
