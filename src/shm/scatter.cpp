// Sends each member its block from the root. The root writes the blocks of a round or turn one after the other, a slot or
// a cell for each member, and goes on; the others copy theirs out.
//
// In scatterv only the root knows all counts. Beside the blocks it publishes the size of the largest one, or the number
// of turns, because every member must count the same rounds and turns.
#include <bit>

#include "shm/block_shapes.hpp"
#include "shm/rooted.hpp"
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

// ---- flat: in rounds of at most one eager buffer for each member. task.own[0] is the size of the largest block in bytes.

/// The slots of a round. A slot has the blocks of 2^n neighbours, so that the root writes few lines for many small blocks;
/// the first of these members owns it.
struct Slots {
  std::size_t cell;   ///< The distance between two blocks of a slot.
  std::size_t bytes;  ///< The size that decides where the slot's payload lies, the same at every member.
  unsigned mask;      ///< The number of neighbours, less one.

  int owner(int member) const noexcept { return static_cast<int>(static_cast<unsigned>(member) & ~mask); }
  std::byte* block(const Task& task, int member) const noexcept {
    return rooted::payload(*task.group, owner(member), task.round, bytes) +
           cell * (static_cast<unsigned>(member) & mask);
  }
};

/// The slots of the round that begins at task.offset. If the members do not know all counts, a slot has its full length.
template <class Shape>
Slots slots_of(const Task& task) noexcept {
  const std::size_t most = task.group->eager_bytes();
  const std::size_t cell = Shape::kIsEven ? coll::part_at(task.offset, task.operation->bytes, most) : most;
  if (cell == 0)
    return {most, 0, 0};  // The root's blocks are longer than this member's: the rounds go on without data.
  if (!Shape::kIsEven || cell > kRootedSmallBytes / 2) return {cell, cell, 0};
  const std::size_t cells = kRootedSmallBytes >> std::bit_width(cell - 1);
  return {cell, cell * cells, static_cast<unsigned>(cells) - 1};
}

/// Writes the next part of the others' blocks. Each slot is published at once.
template <class Shape>
void fill_slots(const Task& task, const Shape& shape, const Slots& slots) noexcept {
  Group& group = *task.group;
  const int members = group.size(), me = group.index();
  for (int m = 0; m < members;) {
    const int owner = m, end = std::min(owner + static_cast<int>(slots.mask) + 1, members);
    if (end - owner == 1 && owner == me) {
      ++m;
      continue;
    }
    std::byte* const slot = slots.block(task, owner);
    rooted::claim_slot(group, task.round, slot, slots.bytes);
    for (; m < end; ++m) {
      const std::size_t bytes = coll::part_at(task.offset, shape.bytes(m), slots.cell);
      if (m == me || bytes == 0) continue;
      copy_in(group, slot + slots.cell * static_cast<std::size_t>(m - owner),
              root_bytes(task) + shape.offset(m) + task.offset, bytes);
    }
    Line& line = rooted::line(group, owner, task.round);
    line.word = task.own[0];
    rooted::publish_slot(group, owner, task.round, slots.bytes);
  }
}

/// Scatters blocks that all fit into one line, in one round. The general way takes 10 ns more for each call of a row.
Step scatter_in_one_line(Task& task, const EvenBlocks& shape, std::size_t row) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  if (task.phase == 0) {
    begin_round(task);
    task.phase = 1;
  }
  Line& line = rooted::line(group, operation.root, task.round);
  if (group.index() == operation.root) {
    if (!rooted::room(group, task.round, row)) return Step::waiting;
    fill_cells(task, shape, line.payload, operation.bytes, 0);
    rooted::publish_slot(group, operation.root, task.round, row);
    keep_own(task, shape, operation.bytes, 0);
  } else {
    if (!arrived(line, task.round, row, task.polls)) return Step::waiting;
    take_cell(task, line.payload, operation.bytes, 0);
  }
  end_round(task, operation.bytes, operation.bytes);
  return Step::done;
}

template <class Shape>
Step scatter_by_rounds(Task& task, const Shape& shape) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  if constexpr (Shape::kIsEven) {
    const std::size_t row = operation.bytes * static_cast<std::size_t>(group.size());
    if (row <= kInlineBytes) return scatter_in_one_line(task, shape, row);
  }
  const int me = group.index();
  const bool is_root = me == operation.root;
  for (;;) {
    if (task.phase == 0) {
      if (task.offset == 0 && (is_root || Shape::kIsEven)) task.own[0] = shape.largest(group.size());
      begin_round(task);
      task.phase = 1;
    }
    const Slots slots = slots_of<Shape>(task);
    if (is_root) {
      if (!rooted::room(group, task.round, slots.bytes)) return Step::waiting;
      fill_slots(task, shape, slots);
      keep_own(task, shape, slots.cell, task.offset);
    } else {
      const Line& line = rooted::line(group, slots.owner(me), task.round);
      if (!arrived(line, task.round, slots.bytes, task.polls)) return Step::waiting;
      task.own[0] = line.word;
      const std::size_t bytes = coll::part_at(task.offset, operation.bytes, slots.cell);
      if (bytes != 0) copy_bytes(out_bytes(operation) + task.offset, slots.block(task, me), bytes);
    }
    if (end_round(task, slots.cell, task.own[0])) return Step::done;
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
