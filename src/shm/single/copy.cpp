#include "shm/single/copy.hpp"

#include <sys/prctl.h>
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
    if (got < 0 && errno == ESRCH) return Copied::gone;
    if (got < 0 && errno == EPERM) task.group->note_refusal();
    if (got <= 0) return Copied::refused;
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

bool may_be_copied(const Group& group) noexcept {
  // 1: every process of the same user may read this one. It is the kernel's own condition, beside that of a module such as
  // Yama, which only the one who reads can ask.
  return !group.was_refused() && ::prctl(PR_GET_DUMPABLE) == 1;
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

Meets what_meets(Group& group, Copied copied) noexcept {
  if (copied == Copied::all) return Meets::end;
  // A member that has found a dead one returns to its caller, which may unmap the memory that we read. That does not
  // count as refused.
  if (group.look_for_dead() != Errc::ok) return Meets::death;
  return copied == Copied::gone ? Meets::later : Meets::refusal;
}

Step finish_or_go_by(Task& task, std::string_view algorithm) noexcept {
  if (!all_arrived(task, 0)) return Step::waiting;
  if (!all_open(task)) return go_by(task, algorithm);
  task.group->complete(task.round);
  task.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
