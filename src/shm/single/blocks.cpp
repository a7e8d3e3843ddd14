// Single copy: every member publishes where its data lies, and the others read it there, without a copy into shared
// memory. Each page costs the kernel some work, so it pays where cache lines are expensive; timed.cpp measures that.
//
// There are two rounds: in the first each publishes its addresses, in the second each confirms that it is finished, so
// that the owner may change its data. If the system does not copy some member's data for other processes, all know it
// after the first round, and they use the ring in shared memory instead. If it refuses one in the middle, all know it after
// the second one, and do the operation again by the ring: nobody has lost an input.
//
// Of two members each writes into the other's memory instead: its own data are in its caches, where they were just
// made, while the result that is still to come is in no cache. Two Xeon cores, two threads, allgather of 1 MiB: 212 to
// 237 us by writing, 268 us by reading. With more members each reads. The v-forms also read, so that a sender with a
// wrong size harms only itself.
#include "shm/single/copy.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

std::size_t addresses_bytes(const Group& group) noexcept {
  return static_cast<std::size_t>(group.size()) * sizeof(std::byte*);
}

enum Phase : std::uint32_t { kStart, kTell, kMeet, kCopy, kThrough };
enum Words : std::size_t { kKept };  ///< So many bytes of our own block have been copied.

std::byte* told_by(const Group& group, int member, int to, std::uint64_t round) noexcept {
  std::byte* address = nullptr;
  std::memcpy(&address,
              payload_of(group, member, round, addresses_bytes(group)) + static_cast<std::size_t>(to) * sizeof address,
              sizeof address);
  return address;
}

/// Memory that another member may read or write.
struct Memory {
  const std::byte* data;
  std::size_t bytes;
};

/// The block that a member sends to itself: it copies it while it waits for another member, or together with the
/// others' blocks.
struct Own {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes;
};

/// The size of one step of such a copy: the caches can hold it, and a system call costs little beside it.
std::size_t piece_of(const Group& group) noexcept { return group.tuning().large.single_piece_bytes; }

void keep_until(Task& task, const Own& own, std::size_t end) noexcept {
  const std::size_t kept = task.own[kKept];
  end = std::min(end, own.bytes);
  if (kept >= end) return;
  if (own.to != own.from) copy_bytes(own.to + kept, own.from + kept, end - kept);
  task.own[kKept] = end;
  task.has_moved = true;
}

enum class Keeps : std::uint8_t { first, last };

/// `offer(m)` returns the Memory for member m; `across(m, address)` copies from or to that member's; `keeps` says
/// whether `own` is copied before or after the others' blocks; `instead` names the algorithm that serves if some
/// member's memory is not open.
template <class Offer, class Across>
Step single_copy(Task& task, std::string_view instead, const Offer& offer, const Across& across, const Own& own,
                 Keeps keeps = Keeps::last) {
  Group& group = *task.group;
  if (task.phase == kStart) {
    begin_round(task);
    task.phase = kTell;
  }
  if (task.phase == kTell) {
    if (!group.room(task.round, ring_for(addresses_bytes(group)))) return Step::waiting;
    const std::byte* addresses[kMembersMax] = {};
    bool open = true;
    for (int m = 0; m < group.size(); ++m) {
      if (m == group.index()) continue;
      const Memory memory = offer(m);
      addresses[m] = memory.data;
      open = open && is_open(memory.data, memory.bytes);
    }
    tell(task, addresses, addresses_bytes(group), open);
    task.phase = kMeet;
  }
  if (task.phase == kMeet) {
    for (; task.peer < group.size(); ++task.peer) {
      if (task.peer == group.index()) continue;
      const Line& line = group.line(task.peer, task.round);
      if (!arrived(line, task.round, addresses_bytes(group), 1))
        keep_until(task, own, task.own[kKept] + piece_of(group));
      if (!arrived(line, task.round, addresses_bytes(group), task.polls)) return Step::waiting;
    }
    if (!all_open(task)) return go_by(task, instead);
    task.peer = 0;
    task.phase = kCopy;
  }
  if (task.phase == kCopy) {
    if (keeps == Keeps::first) keep_until(task, own, own.bytes);
    Meets meets = Meets::end;
    for (; task.peer < group.size() && meets == Meets::end; ++task.peer) {
      if (task.peer == group.index()) continue;
      meets = what_meets(group, across(task.peer, told_by(group, task.peer, group.index(), task.round)));
      if (meets == Meets::later) return Step::waiting;
      if (meets == Meets::death) return Step::failed;
      task.has_moved = true;
    }
    keep_until(task, own, own.bytes);
    say_through(task, meets == Meets::refusal);
    task.phase = kThrough;
  }
  return finish_or_go_by(task, instead);
}

}  // namespace

bool single_copy_agreed(const Group& group) noexcept {
  return group.turning.single_copy && turns_fit(group) && group.size() <= kMembersMax &&
         group.eager_bytes() >= static_cast<std::size_t>(group.size()) * sizeof(std::byte*);
}

/// Two members both copy: the reader the first half, the root the second.
Step bcast_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  const int me = task.group->index();
  std::byte* const data = out_bytes(operation);
  const std::size_t read = task.group->size() == 2 ? round_up(operation.bytes / 2, kPage) : operation.bytes;
  const std::size_t first = std::min(read, operation.bytes);
  return single_copy(
      task, "stream",
      [&](int) {
        return Memory{data, operation.bytes};
      },
      [&](int m, std::byte* there) {
        if (m == operation.root) return read_from(task, m, there, data, first);
        if (me != operation.root || first == operation.bytes) return Copied::all;
        return write_into(task, m, there + first, data + first, operation.bytes - first);
      },
      Own{});
}

Step allgather_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  const int me = task.group->index();
  const std::size_t bytes = operation.bytes;
  std::byte* const out = out_bytes(operation);
  const auto block = [&](int m) { return out + static_cast<std::size_t>(m) * bytes; };
  const std::byte* const mine = operation.in_place() ? block(me) : in_bytes(operation);
  const Own own{block(me), mine, bytes};
  // Copies each part to both results in turn, because the second copy finds in the caches what the first one loaded.
  // 1 MiB: 242 us, and 261 us without it.
  if (task.group->size() == 2)
    return single_copy(
        task, "exchange",
        [&](int m) {
          return Memory{block(m), bytes};
        },
        [&](int m, std::byte* there) {
          const std::size_t piece = piece_of(*task.group);
          for (std::size_t at = 0; at < bytes; at += piece) {
            const Copied copied = write_into(task, m, there + at, mine + at, std::min(piece, bytes - at));
            if (copied != Copied::all) return copied;
            keep_until(task, own, at + piece);
          }
          return Copied::all;
        },
        own);
  return single_copy(
      task, "exchange",
      [&](int) {
        return Memory{mine, bytes};
      },
      [&](int m, std::byte* there) { return read_from(task, m, there, block(m), bytes); }, own);
}

Step allgatherv_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  const coll::Blocks& blocks = operation.out_blocks;
  const int me = task.group->index();
  std::byte* const out = out_bytes(operation);
  const std::byte* const mine = operation.in_place() ? out + blocks.offset(me) : in_bytes(operation);
  return single_copy(
      task, "exchange",
      [&](int) {
        return Memory{mine, blocks.bytes(me)};
      },
      [&](int m, std::byte* there) { return read_from(task, m, there, out + blocks.offset(m), blocks.bytes(m)); },
      Own{out + blocks.offset(me), mine, blocks.bytes(me)});
}

// In place (in MPI's sense, and then at every member), others would read bytes that we overwrite, or overwrite bytes
// that we have not sent yet.
Step alltoall_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  if (operation.in_place()) return alltoall_exchange(task);
  const int me = task.group->index();
  const std::size_t bytes = operation.bytes;
  const std::byte* const in = in_bytes(operation);
  std::byte* const out = out_bytes(operation);
  const auto at = [&](int m) { return static_cast<std::size_t>(m) * bytes; };
  const Own own{out + at(me), in + at(me), bytes};
  // The last block goes first: a caller that fills its blocks in order still has that one in its caches, and a copy of
  // another block would evict it. 1 MiB: 240 us, and 252 us without it.
  if (task.group->size() == 2)
    return single_copy(
        task, "exchange",
        [&](int m) {
          return Memory{out + at(m), bytes};
        },
        [&](int m, std::byte* there) { return write_into(task, m, there, in + at(m), bytes); }, own,
        me == 1 ? Keeps::first : Keeps::last);
  return single_copy(
      task, "exchange",
      [&](int m) {
        return Memory{in + at(m), bytes};
      },
      [&](int m, std::byte* there) { return read_from(task, m, there, out + at(m), bytes); }, own);
}

Step alltoallv_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  if (operation.in_place()) return alltoallv_exchange(task);
  const coll::Blocks &to = operation.in_blocks, &from = operation.out_blocks;
  const int me = task.group->index();
  const std::byte* const in = in_bytes(operation);
  std::byte* const out = out_bytes(operation);
  return single_copy(
      task, "exchange",
      [&](int m) {
        return Memory{in + to.offset(m), to.bytes(m)};
      },
      [&](int m, std::byte* there) { return read_from(task, m, there, out + from.offset(m), from.bytes(m)); },
      Own{out + from.offset(me), in + to.offset(me), from.bytes(me)});
}

/// The others read their blocks from the root's memory, while the root copies its own.
Step scatter_single(Task& task) {
  const coll::Operation& operation = *task.operation;
  const int me = task.group->index();
  const std::size_t bytes = operation.bytes;
  std::byte* const out = out_bytes(operation);
  if (me == operation.root) {
    const std::byte* const in = in_bytes(operation);
    const auto block = [&](int m) { return in + static_cast<std::size_t>(m) * bytes; };
    return single_copy(
        task, "stream",
        [&](int m) {
          return Memory{block(m), bytes};
        },
        [](int, std::byte*) { return Copied::all; }, operation.in_place() ? Own{} : Own{out, block(me), bytes});
  }
  return single_copy(
      task, "stream",
      [&](int) {
        return Memory{out, bytes};
      },
      [&](int m, std::byte* there) {
        return m == operation.root ? read_from(task, m, there, out, bytes) : Copied::all;
      },
      Own{});
}

}  // namespace sumac::shm
