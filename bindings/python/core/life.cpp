#include "bindings/python/core/life.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "base/fd.hpp"

namespace sumac::python {

bool has_ended(std::int64_t pid) {
  if (pid == 0) return false;
  static std::mutex lock;
  static std::map<std::int64_t, UniqueFd>& open = *new std::map<std::int64_t, UniqueFd>;  // Threads may outlive main().
  const std::lock_guard guard(lock);
  auto at = open.find(pid);
  if (at == open.end()) {
    UniqueFd fd{static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0))};
    if (!fd) return errno == ESRCH;
    at = open.emplace(pid, std::move(fd)).first;
  }
  pollfd ended{at->second.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

}  // namespace sumac::python
