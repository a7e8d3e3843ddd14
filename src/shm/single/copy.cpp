#include "shm/single/copy.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace sumac::shm {

namespace {

enum class Way : std::uint8_t { read, write };

/// Copies between `here` and `there` in another process: all bytes, in as many calls as the system needs.
Copied copy_across(Way way, const Task& task, int member, std::byte* here, std::byte* there,
                   std::size_t bytes) noexcept {
  const auto pid = static_cast<pid_t>(task.group->process(member).pid);
  while (bytes > 0) {
    const iovec mine{here, bytes}, its{there, bytes};
    const ssize_t got = way == Way::read ? ::process_vm_readv(pid, &mine, 1, &its, 1, 0)
                                         : ::process_vm_writev(pid, &mine, 1, &its, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 && errno == ESRCH ? Copied::gone : Copied::refused;
    here += got, there += got, bytes -= static_cast<std::size_t>(got);
  }
  return Copied::all;
}

}  // namespace

Copied read_from(Task& task, int member, const std::byte* there, std::byte* to, std::size_t bytes) noexcept {
  return copy_across(Way::read, task, member, to, const_cast<std::byte*>(there), bytes);
}

Copied write_into(Task& task, int member, std::byte* there, const std::byte* from, std::size_t bytes) noexcept {
  Group& group = *task.group;
  if (!group.enter_others()) return Copied::gone;
  const Copied copied = copy_across(Way::write, task, member, const_cast<std::byte*>(from), there, bytes);
  group.leave_others();
  return copied;
}

bool is_open(const std::byte* data, std::size_t bytes) noexcept {
  if (bytes == 0) return true;
  std::byte ends[2];
  auto* const first = const_cast<std::byte*>(data);
  const iovec here{ends, sizeof ends}, there[] = {{first, 1}, {first + bytes - 1, 1}};
  return ::process_vm_readv(::getpid(), &here, 1, there, std::size(there), 0) == sizeof ends;
}

Step go_by(Task& task, std::string_view algorithm) noexcept {
  task.group->see_all(task.round);
  task.group->complete(task.round);
  task.group->count_closed();
  task.algorithm = find_algorithm(task.operation->kind, algorithm);
  start_over(task);
  return task.algorithm->step(task);
}

Step step_for(Group& group, Copied copied) noexcept {
  if (copied == Copied::all) return Step::done;
  // A member that has found a dead one returns to its caller, which may unmap the memory that we read. That does not
  // count as refused.
  if (group.look_for_dead() != Errc::ok) return Step::failed;
  if (copied == Copied::gone) return Step::waiting;
  group.break_because(Errc::lost,
                      "another rank's memory was refused (process_vm_readv or _writev): set SUMAC_SHM_SINGLE_COPY=0");
  return Step::failed;
}

}  // namespace sumac::shm
