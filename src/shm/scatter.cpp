// Sends each member its block from the root. The root writes the blocks of a round or turn one after the other, a cell
// for each member, and goes on; the others copy their cells out.
//
// In scatterv only the root knows all counts. Beside the blocks it publishes the size of the largest one, or the number
// of turns, because every member must count the same rounds and turns.
#include "shm/block_shapes.hpp"
#include "shm/rounds.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

const std::byte* root_bytes(const Task& task) noexcept { return static_cast<const std::byte*>(task.operation->in); }

/// Copies a part of the root's own block. It follows the others' cells of the same round or turn, so that no member waits
/// for data that only the root needs.
template <class Shape>
void keep_own(const Task& task, const Shape& shape, std::size_t cell, std::size_t offset) noexcept {
  const int me = task.group->index();
  const std::size_t bytes = coll::part_at(offset, shape.bytes(me), cell);
  if (task.operation->in_place() || bytes == 0) return;
  copy_bytes(out_bytes(*task.operation) + offset, root_bytes(task) + shape.offset(me) + offset, bytes);
}

/// Copies the next `cell` bytes of the others' blocks, from `offset` on, into their cells.
template <class Shape>
void fill_cells(const Task& task, const Shape& shape, std::byte* cells, std::size_t cell, std::size_t offset) noexcept {
  for (int m = 0; m < task.group->size(); ++m) {
    const std::size_t bytes = coll::part_at(offset, shape.bytes(m), cell);
    if (m == task.group->index() || bytes == 0) continue;
    copy_in(*task.group, cells + cell * static_cast<std::size_t>(m), root_bytes(task) + shape.offset(m) + offset,
            bytes);
  }
}

void take_cell(const Task& task, const std::byte* cells, std::size_t cell, std::size_t offset) noexcept {
  const std::size_t bytes = coll::part_at(offset, task.operation->bytes, cell);
  if (bytes == 0) return;
  copy_bytes(out_bytes(*task.operation) + offset, cells + cell * static_cast<std::size_t>(task.group->index()), bytes);
}

// ---- flat: in rounds of one eager buffer. task.own[0] is the size of the largest block in bytes.

template <class Shape>
Step scatter_by_rounds(Task& task, const Shape& shape) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const bool is_root = group.index() == operation.root;
  const auto members = static_cast<std::size_t>(group.size());
  const std::size_t most = group.eager_bytes() / members / 16 * 16;
  const std::size_t cell = Shape::kIsEven ? std::min(operation.bytes, most) : most;
  const std::size_t row = cell * members;
  for (;;) {
    if (task.phase == 0) {
      if (task.offset == 0 && (is_root || Shape::kIsEven)) task.own[0] = shape.largest(group.size());
      begin_round(task);
      task.phase = 1;
    }
    std::byte* const cells = payload_of(group, operation.root, task.round, row);
    Line& line = group.line(operation.root, task.round);
    if (is_root) {
      if (!group.room(task.round, ring_for(row))) return Step::waiting;
      fill_cells(task, shape, cells, cell, task.offset);
      line.word = task.own[0];
      publish(line, task.round, row);
      keep_own(task, shape, cell, task.offset);
    } else {
      if (!arrived(line, task.round, row, task.polls)) return Step::waiting;
      task.own[0] = line.word;
      take_cell(task, cells, cell, task.offset);
    }
    if (end_round(task, cell, task.own[0])) return Step::done;
  }
}

// ---- stream: turn by turn through the root's slices.

constexpr std::size_t kWordBytes = kCacheLine;  // so that cells are aligned

template <class Shape>
Step scatter_by_turns(Task& task, const Shape& shape) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const bool is_root = group.index() == operation.root;
  const std::size_t room = turn_limit(group, group.tuning().large.exchange_turn_bytes) - kWordBytes;
  const std::size_t most = room / static_cast<std::size_t>(group.size()) / kCacheLine * kCacheLine;
  // If only the root knows the counts, a cell has its full length.
  const std::size_t cell = Shape::kIsEven ? cut_into_turns(operation.bytes, most, kCacheLine).step : most;
  Turns turns(task);
  if (task.phase == 0) {
    const std::size_t largest = is_root || Shape::kIsEven ? shape.largest(group.size()) : 0;
    turns.begin(std::max<std::size_t>((largest + cell - 1) / cell, 1));
  }
  const auto give = [&](std::uint64_t turn, std::byte* slice) {
    const std::uint64_t needed = turns.count();
    std::memcpy(slice, &needed, sizeof needed);
    fill_cells(task, shape, slice + kWordBytes, cell, turn * cell);
  };
  const auto move = [&] {
    const std::uint64_t turn = turns.taken();
    if (is_root) {
      if (turns.fill(give)) return true;
      if (turn == turns.count()) return false;
      keep_own(task, shape, cell, turn * cell);
      ++turns.taken();
      return true;
    }
    if (!turns.seen(Turns::kWritten, operation.root, turn)) return false;
    const std::byte* const slice = turns.slice(operation.root, turn);
    std::uint64_t needed = 0;
    std::memcpy(&needed, slice, sizeof needed);
    turns.grow(needed);
    take_cell(task, slice + kWordBytes, cell, turn * cell);
    turns.has_taken();
    return true;
  };
  return drive(task, turns, move,
               [&] { return turns.taken() == turns.count() && (!is_root || turns.filled() == turns.count()); });
}

}  // namespace

Step scatter_flat(Task& task) { return scatter_by_rounds(task, EvenBlocks{task.operation->bytes}); }
Step scatterv_flat(Task& task) { return scatter_by_rounds(task, UnevenBlocks{task.operation->in_blocks}); }
Step scatter_stream(Task& task) { return scatter_by_turns(task, EvenBlocks{task.operation->bytes}); }
Step scatterv_stream(Task& task) { return scatter_by_turns(task, UnevenBlocks{task.operation->in_blocks}); }

}  // namespace sumac::shm
