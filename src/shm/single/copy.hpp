#pragma once
// Copies between this process and another member's, for the algorithms of single copy; only this folder includes this
// header.
#include <sys/types.h>

#include <cstring>

#include "shm/rounds.hpp"

namespace sumac::shm {

enum class Copied : std::uint8_t { all, gone, refused };

Copied read_from(Task& task, int member, const std::byte* there, std::byte* to, std::size_t bytes) noexcept;

/// A member that writes into another's memory must know that the other is still in the operation: a member that has
/// found the group broken returns to its caller, which may reuse its buffers. So a writer first announces that it
/// writes and then checks whether any member has found the group broken; a member that finds it broken announces that
/// first and then waits for the writers.
Copied write_into(Task& task, int member, std::byte* there, const std::byte* from, std::size_t bytes) noexcept;

/// Returns the step's result if not all was copied. A process that ends loses its memory a little before the system
/// reports it dead; in that case the caller tries again.
Step step_for(Group& group, Copied copied) noexcept;

/// Does the system copy this memory of ours for other processes? It refuses memory that a device's driver has mapped,
/// and secret memory. Only the first and the last byte are tried, since one buffer is of one kind.
bool is_open(const std::byte* data, std::size_t bytes) noexcept;

/// Publishes in the operation's round (the caller has checked that there is room) the addresses that the others need,
/// and whether all of that memory is_open().
inline void tell(Task& task, const void* words, std::size_t bytes, bool open) noexcept {
  const Group& group = *task.group;
  std::memcpy(payload_of(group, group.index(), task.round, bytes), words, bytes);
  Line& line = group.line(group.index(), task.round);
  line.word = open ? 1 : 0;
  publish(line, task.round, bytes);
}

/// Is all members' memory open? Called when every member has been seen in the round, so the answer is the same
/// everywhere.
inline bool all_open(const Task& task) noexcept {
  for (int m = 0; m < task.group->size(); ++m)
    if (task.group->line(m, task.round).word == 0) return false;
  return true;
}

/// Starts the operation again from the beginning with `algorithm`, which uses shared memory.
Step go_by(Task& task, std::string_view algorithm) noexcept;

/// Called when every member has been seen in the round: enters the next round, in which each confirms that it no longer
/// uses the others' memory.
inline void say_through(Task& task) noexcept {
  Group& group = *task.group;
  group.see_all(task.round);
  group.complete(task.round);
  begin_round(task);
  // There is room, because every member has been seen in the round before.
  publish(group.line(group.index(), task.round), task.round, 0);
}

}  // namespace sumac::shm
