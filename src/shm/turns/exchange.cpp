// Large blocks from each member to each: allgather(v), where every member copies all of each slice, and alltoall(v),
// where a slice has a cell for each receiver. A member goes on filling its slices while it copies out of the others'.
//
// In alltoallv a member knows only its own counts. Each slice begins with a word, the size of its member's largest
// block. After the words of the first turn, every member knows how many turns there are.
#include "shm/block_shapes.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

constexpr std::size_t kWordBytes = kCacheLine;  // A whole line, so that cells are aligned.

/// The common part of alltoall and alltoallv, allgather and allgatherv. `Shape` knows the layout of the buffers:
///   fill(turn, slice)         copies this member's part of the turn from the caller's buffer into its slice
///   keep(turn)                copies what it sends to itself; nobody waits for that
///   take(member, turn, slice) copies from another's slice into the caller's buffer
template <class Shape>
Step exchange(Task& task, Turns& turns, Shape&& shape) {
  const auto others = static_cast<std::uint64_t>(task.group->size() - 1);
  const auto fill = [&] {
    const std::uint64_t turn = turns.filled();
    if (!turns.fill([&](std::uint64_t, std::byte* slice) { shape.fill(turn, slice); })) return false;
    if (!task.operation->in_place()) shape.keep(turn);
    return true;
  };
  const auto take = [&] {
    const std::uint64_t turn = turns.taken();
    // In place, the bytes that arrive replace the bytes that this member sends, so those must already be in the slice.
    if (turn == turns.filled()) return false;
    bool moved = false;
    for (std::uint64_t& i = turns.take_peers(); i < others; ++i) {
      const int m = turns.other(i);
      if (!turns.seen(Turns::kWritten, m, turn)) return moved;
      shape.take(m, turn, turns.slice(m, turn));
      moved = true;
    }
    turns.take_peers() = 0;
    turns.has_taken();
    return true;
  };
  const auto move = [&] {
    const bool filled = fill();
    return take() || filled;
  };
  return drive(task, turns, move, [&] { return turns.taken() == turns.count(); });
}

std::size_t turn_limit(const Group& group) noexcept {
  return shm::turn_limit(group, group.tuning().large.exchange_turn_bytes);
}

/// Returns the bytes of a cell if `room` has one cell for each member.
std::size_t cell_limit(const Group& group, std::size_t room) noexcept {
  return room / static_cast<std::size_t>(group.size()) / kCacheLine * kCacheLine;
}

template <class Places>
struct Gather {
  Task& task;
  const Places& at;
  std::size_t step;

  void fill(std::uint64_t turn, std::byte* slice) const noexcept {
    const std::size_t offset = turn * step;
    copy_in(*task.group, slice, task.operation->in_place() ? result(turn) : in_bytes(*task.operation) + offset,
            own(turn));
  }
  void keep(std::uint64_t turn) const noexcept {
    copy_bytes(result(turn), in_bytes(*task.operation) + turn * step, own(turn));
  }
  void take(int m, std::uint64_t turn, const std::byte* slice) const noexcept {
    const std::size_t offset = turn * step;
    copy_bytes(out_bytes(*task.operation) + at.offset(m) + offset, slice, coll::part_at(offset, at.bytes(m), step));
  }

 private:
  /// This member's own part of the turn.
  std::size_t own(std::uint64_t turn) const noexcept {
    return coll::part_at(turn * step, at.bytes(task.group->index()), step);
  }
  std::byte* result(std::uint64_t turn) const noexcept {
    return out_bytes(*task.operation) + at.offset(task.group->index()) + turn * step;
  }
};

template <class Places>
Step gather(Task& task, const Places& places) {
  Turns turns(task);
  const std::size_t largest = places.largest(task.group->size()), limit = turn_limit(*task.group);
  // With uneven blocks, who has a small one waits for the others' most of the time.
  const coll::Cut parts = Places::kIsEven
                              ? cut_into_turns(largest, limit, kCacheLine)
                              : cut_one_way(largest, limit, task.group->tuning().large.one_way_turns, kCacheLine);
  if (task.phase == 0) turns.begin(parts.count);
  return exchange(task, turns, Gather<Places>{task, places, parts.step});
}

template <class Places>
struct Rows {
  Task& task;
  const Places& at;
  std::size_t cell;  ///< The bytes of one cell in a slice, and so of each block in one turn.

  void fill(std::uint64_t turn, std::byte* slice) const noexcept {
    const int me = task.group->index();
    const std::size_t offset = turn * cell;
    const std::byte* const in = in_bytes(*task.operation);
    for (int m = 0; m < task.group->size(); ++m) {
      if (m == me) continue;
      copy_in(*task.group, slice + static_cast<std::size_t>(m) * cell, in + at.to.offset(m) + offset,
              coll::part_at(offset, at.to.bytes(m), cell));
    }
  }
  void keep(std::uint64_t turn) const noexcept {
    const int me = task.group->index();
    const std::size_t offset = turn * cell;
    copy_bytes(out_bytes(*task.operation) + at.from.offset(me) + offset,
               in_bytes(*task.operation) + at.to.offset(me) + offset, coll::part_at(offset, at.to.bytes(me), cell));
  }
  void take(int m, std::uint64_t turn, const std::byte* slice) const noexcept {
    const std::size_t offset = turn * cell;
    copy_bytes(out_bytes(*task.operation) + at.from.offset(m) + offset,
               slice + static_cast<std::size_t>(task.group->index()) * cell,
               coll::part_at(offset, at.from.bytes(m), cell));
  }
};

/// Rows whose number of turns becomes known in the first turn.
struct CountedRows {
  Rows<Exchanged<UnevenBlocks>> rows;
  Turns& turns;

  void fill(std::uint64_t turn, std::byte* slice) const noexcept {
    const std::uint64_t needed = turns.count();
    if (turn == 0) std::memcpy(slice, &needed, sizeof needed);
    rows.fill(turn, slice + kWordBytes);
  }
  void keep(std::uint64_t turn) const noexcept { rows.keep(turn); }
  void take(int m, std::uint64_t turn, const std::byte* slice) const noexcept {
    std::uint64_t needed = 0;
    if (turn == 0) std::memcpy(&needed, slice, sizeof needed);
    turns.grow(needed);
    rows.take(m, turn, slice + kWordBytes);
  }
};

}  // namespace

bool turns_fit(const Group& group) noexcept { return slice_bytes(group) >= least_slice_bytes(group); }

Step allgather_exchange(Task& task) { return gather(task, EvenBlocks{task.operation->bytes}); }

Step allgatherv_exchange(Task& task) { return gather(task, UnevenBlocks{task.operation->out_blocks}); }

Step alltoall_exchange(Task& task) {
  Turns turns(task);
  const auto places = even_blocks(*task.operation);
  const coll::Cut parts =
      cut_into_turns(task.operation->bytes, cell_limit(*task.group, turn_limit(*task.group)), kCacheLine);
  if (task.phase == 0) turns.begin(parts.count);
  return exchange(task, turns, Rows<Exchanged<EvenBlocks>>{task, places, parts.step});
}

Step alltoallv_exchange(Task& task) {
  Turns turns(task);
  const auto places = uneven_blocks(*task.operation);
  const std::size_t cell = cell_limit(*task.group, turn_limit(*task.group) - kWordBytes);
  if (task.phase == 0) {
    const std::size_t largest = places.to.largest(task.group->size());
    turns.begin(std::max<std::size_t>((largest + cell - 1) / cell, 1));
  }
  return exchange(task, turns, CountedRows{{task, places, cell}, turns});
}

}  // namespace sumac::shm
