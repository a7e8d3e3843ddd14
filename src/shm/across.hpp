#pragma once
// Inside this folder only: copying between this process and another member's, for the algorithms of single copy.
#include <sys/types.h>

#include <cstring>

#include "shm/rounds.hpp"

namespace sumac::shm {

enum class Copied : std::uint8_t { all, gone, refused };

Copied read_from(Operation& op, int member, const std::byte* there, std::byte* to, std::size_t bytes) noexcept;

/// Who writes into another's memory must know that it still is in the operation: one that has found the group broken returns to its
/// caller, who may do with its buffers what it likes. So a writer says that it writes before it looks whether anybody has found the
/// group broken, and whoever has says that first and then waits for the writers.
Copied write_into(Operation& op, int member, std::byte* there, const std::byte* from, std::size_t bytes) noexcept;

/// What becomes of the operation if not all was copied. A process that ends loses its memory a little before the system calls it
/// dead: then it is asked again.
Step step_for(Group& group, Copied copied) noexcept;

/// Publishes what the others must know (addresses) in the operation's round. False: there is no room yet.
inline bool tell(Operation& op, const void* words, std::size_t bytes) noexcept {
  Group& group = *op.group;
  if (!group.room(op.round, ring_for(bytes))) return false;
  std::memcpy(payload_of(group, group.index(), op.round, bytes), words, bytes);
  publish(group.line(group.index(), op.round), op.round, bytes);
  return true;
}

/// Everybody has been seen in the round: goes on to the one in which each says that it is through with the others' memory.
inline void say_through(Operation& op) noexcept {
  Group& group = *op.group;
  group.see_all(op.round);
  group.complete(op.round);
  begin_round(op);
  // There is room: everybody has been seen in the round before.
  publish(group.line(group.index(), op.round), op.round, 0);
}

}  // namespace sumac::shm
