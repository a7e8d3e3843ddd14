#pragma once
// Inside this folder only: copying between this process and another member's, for the algorithms of single copy.
#include <sys/types.h>

#include <cstring>

#include "shm/rounds.hpp"

namespace sumac::shm {

enum class Copied : std::uint8_t { all, gone, refused };

Copied read_from(Task& task, int member, const std::byte* there, std::byte* to, std::size_t bytes) noexcept;

/// Who writes into another's memory must know that it still is in the operation: one that has found the group broken returns to its
/// caller, who may do with its buffers what it likes. So a writer says that it writes before it looks whether anybody has found the
/// group broken, and whoever has says that first and then waits for the writers.
Copied write_into(Task& task, int member, std::byte* there, const std::byte* from, std::size_t bytes) noexcept;

/// What becomes of the operation if not all was copied. A process that ends loses its memory a little before the system calls it
/// dead: then it is asked again.
Step step_for(Group& group, Copied copied) noexcept;

/// Does the system copy this memory of ours for other processes? Not what a device's driver has mapped, or secret memory. Asked of its first
/// and last byte: what lies in one buffer is of one kind.
bool is_open(const std::byte* data, std::size_t bytes) noexcept;

/// Publishes what the others must know (addresses) in the operation's round, for which there is room, and whether all of it is_open().
inline void tell(Task& task, const void* words, std::size_t bytes, bool open) noexcept {
  const Group& group = *task.group;
  std::memcpy(payload_of(group, group.index(), task.round, bytes), words, bytes);
  Line& line = group.line(group.index(), task.round);
  line.word = open ? 1 : 0;
  publish(line, task.round, bytes);
}

/// Everybody has been seen in the round: is all their memory open? The same answer at every member.
inline bool all_open(const Task& task) noexcept {
  for (int m = 0; m < task.group->size(); ++m)
    if (task.group->line(m, task.round).word == 0) return false;
  return true;
}

/// Instead, from the beginning: by an algorithm that goes through shared memory.
Step go_by(Task& task, std::string_view algorithm) noexcept;

/// Everybody has been seen in the round: goes on to the one in which each says that it is through with the others' memory.
inline void say_through(Task& task) noexcept {
  Group& group = *task.group;
  group.see_all(task.round);
  group.complete(task.round);
  begin_round(task);
  // There is room: everybody has been seen in the round before.
  publish(group.line(group.index(), task.round), task.round, 0);
}

}  // namespace sumac::shm
