#include "shm/segment/liveness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace sumac::shm {

namespace {

struct Stat {
  bool found = false;
  char state = '?';
  std::uint64_t start_time = 0;
};

/// Reads /proc/PID/stat. The second field, a name in brackets, may contain anything, even brackets.
Stat read_stat(std::int64_t pid) noexcept {
  char path[48];
  *fmt::format_to_n(path, sizeof path - 1, "/proc/{}/stat", pid).out = '\0';
  const UniqueFd fd{::open(path, O_RDONLY | O_CLOEXEC)};
  char text[1024];
  const ssize_t length = fd ? ::read(fd.get(), text, sizeof text - 1) : -1;
  if (length <= 0) return {};
  text[length] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  Stat stat{true, at[2], 0};
  at += 2;
  for (int field = 3; field < 22 && at != nullptr; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) stat.start_time = std::strtoull(at + 1, nullptr, 10);
  return stat;
}

Life by_stat(const ProcessName& process) noexcept {
  const Stat stat = read_stat(process.pid);
  if (!stat.found) return errno == ENOENT || errno == ESRCH ? Life::dead : Life::unknown;
  if (stat.state == 'Z' || stat.state == 'X') return Life::dead;
  return stat.start_time == process.start_time ? Life::alive : Life::dead;
}

std::uint64_t own_namespace() noexcept {
  struct stat ns {};
  return ::stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

struct Watched {
  UniqueFd pidfd;
  std::uint64_t start_time = 0;
};

std::mutex& mutex() {
  static std::mutex m;
  return m;
}
std::unordered_map<std::int64_t, Watched>& watched() {
  static auto& map = *new std::unordered_map<std::int64_t, Watched>;  // Never destroyed: threads may look after main().
  return map;
}

}  // namespace

ProcessName this_process() noexcept {
  // The kernel computes all of /proc/PID/stat for the one number in it, so a process asks once: a forked child has
  // another number, or another namespace. Threads that ask at once store the same values, the start time first: whoever
  // sees this process's number and namespace sees its start time, too.
  static std::atomic<std::int64_t> known_pid = 0;
  static std::atomic<std::uint64_t> known_namespace = 0, known_start = 0;
  ProcessName name;
  name.pid = ::getpid();
  name.pid_namespace = own_namespace();
  if (known_pid.load(std::memory_order_acquire) == name.pid &&
      known_namespace.load(std::memory_order_acquire) == name.pid_namespace) {
    name.start_time = known_start.load(std::memory_order_relaxed);
    return name;
  }
  name.start_time = read_stat(name.pid).start_time;
  known_start.store(name.start_time, std::memory_order_relaxed);
  known_namespace.store(name.pid_namespace, std::memory_order_release);
  known_pid.store(name.pid, std::memory_order_release);
  return name;
}

Life look_at(const ProcessName& process) {
  const std::uint64_t here = own_namespace();
  if (here == 0 || process.pid_namespace != here) return Life::unknown;
  if (process.pid == ::getpid()) return Life::alive;  // Ranks are threads of this process here.

  const std::lock_guard lock(mutex());
  auto [at, is_new] = watched().try_emplace(process.pid);
  Watched& watch = at->second;
  if (is_new || watch.start_time != process.start_time) {
    watch.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process.pid), 0)));
    watch.start_time = process.start_time;
    // The process may have died before we opened the pidfd, and its number may belong to another process now.
    if (const Life life = by_stat(process); !watch.pidfd || life == Life::dead) {
      watched().erase(at);
      return life;
    }
  }
  pollfd ask{watch.pidfd.get(), POLLIN, 0};
  return ::poll(&ask, 1, 0) > 0 ? Life::dead : Life::alive;
}

Life look_at(const Segment& segment, int member) {
  const ProcessName& process = segment.entry(member).process;
  const std::uint64_t here = own_namespace();
  if (here != 0 && process.pid_namespace == here) return look_at(process);
  const auto lock = segment.life_lock(member);
  return lock == Segment::Lock::held ? Life::alive : lock == Segment::Lock::gone ? Life::dead : Life::unknown;
}

}  // namespace sumac::shm
