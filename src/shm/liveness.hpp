#pragma once
// Is a process of this host still alive? Asked only by who has waited for milliseconds, so a descriptor (pidfd) is opened
// on the first question and shared by all teams of this process.
#include "shm/segment.hpp"

namespace sumac::shm {

enum class Life : std::uint8_t {
  alive,
  dead,
  unknown,  ///< It lives in another PID namespace, or the kernel has no pidfd: nobody can tell.
};

Life look_at(const ProcessName& process);

}  // namespace sumac::shm
