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

/// This says what a copy has met. A process that ends loses its memory a little before the system reports it dead; in
/// that case the caller tries again.
enum class Meets : std::uint8_t { end, later, death, refusal };
Meets what_meets(Group& group, Copied copied) noexcept;

/// May other members copy this process's memory, and has it been refused that of none? A program may give up the right in
/// the middle of its life, as those do that hold keys. A member that has been refused another's memory once never asks
/// again.
bool may_be_copied(const Group& group) noexcept;

/// Does the system copy this memory of ours for other processes? It refuses memory that a device's driver has mapped,
/// and secret memory. Only the first and the last byte are tried, since one buffer is of one kind.
bool is_open(const std::byte* data, std::size_t bytes) noexcept;

/// The word in the line of a round in which members tell each other what they may.
enum Word : std::uint64_t { kClosed = 0, kOpen = 1, kInPlace = 2 };

/// Publishes in the operation's round (the caller has checked that there is room) the addresses that the others need,
/// and whether all of that memory is_open().
inline void tell(Task& task, const void* words, std::size_t bytes, bool open) noexcept {
  const Group& group = *task.group;
  std::memcpy(payload_of(group, group.index(), task.round, bytes), words, bytes);
  Line& line = group.line(group.index(), task.round);
  line.word = !open || !may_be_copied(group) ? kClosed : task.operation->in_place() ? kOpen | kInPlace : kOpen;
  publish(line, task.round, bytes);
}

/// Is all members' memory open? Called when every member has been seen in the round, so the answer is the same
/// everywhere.
inline bool all_open(const Task& task) noexcept {
  for (int m = 0; m < task.group->size(); ++m)
    if ((task.group->line(m, task.round).word & kOpen) == 0) return false;
  return true;
}

/// Starts the operation again from the beginning with `algorithm`, which uses shared memory.
Step go_by(Task& task, std::string_view algorithm) noexcept;

/// Called when every member has been seen in the round: enters the next round, in which each confirms that it no longer
/// uses the others' memory, and that none of it was refused.
inline void say_through(Task& task, bool refused) noexcept {
  Group& group = *task.group;
  group.see_all(task.round);
  group.complete(task.round);
  begin_round(task);
  // There is room, because every member has been seen in the round before.
  Line& line = group.line(group.index(), task.round);
  line.word = refused ? kClosed : kOpen;
  publish(line, task.round, 0);
}

/// Ends an operation whose members have said that they are through. If one was refused, all do it again with `algorithm`:
/// so until then no member may have lost an input.
Step finish_or_go_by(Task& task, std::string_view algorithm) noexcept;

}  // namespace sumac::shm
