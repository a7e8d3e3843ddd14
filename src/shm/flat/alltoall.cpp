// Every member publishes its row, one cell for each receiver, and reads its own cell of every row.
//
// In alltoallv a member knows only its own counts, so each publishes in its line how large its largest block is. After
// all lines of the first round, every member knows how many rounds there are.
#include "shm/block_shapes.hpp"
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

/// One round: copies `cell` bytes of each block, from op.offset on. In place, a member copies what it sends before it
/// receives the bytes that replace it, and both lie at the same offset with the same size.
template <class Shape>
bool exchange(Task& task, const Shape& shape, std::size_t cell, std::uint64_t word) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const int me = group.index();
  const std::size_t row = cell * static_cast<std::size_t>(group.size());
  const auto part = [&](std::size_t bytes) { return std::min(bytes - std::min(task.offset, bytes), cell); };
  const auto cell_of = [&](int owner, int receiver) {
    return payload_of(group, owner, task.round, row) + cell * static_cast<std::size_t>(receiver);
  };
  if (task.phase == 0) {
    begin_round(task);
    task.phase = 1;
  }
  if (task.phase == 1) {
    if (!group.room(task.round, ring_for(row))) return false;
    const std::byte* from = in_bytes(operation);
    for (int m = 0; m < group.size(); ++m) {
      if (m == me) continue;
      if (const std::size_t bytes = part(shape.to.bytes(m)); bytes != 0)
        copy_in(group, cell_of(me, m), from + shape.to.offset(m) + task.offset, bytes);
    }
    Line& line = group.line(me, task.round);
    line.word = word;
    publish(line, task.round, row);
    // A cell has room for the largest possible block, so an uneven row may be partly empty.
    if (Shape::kIsEven) claim_next(group, task.round, row);
    if (task.offset == 0 && !operation.in_place() && shape.from.bytes(me) != 0)
      copy_bytes(out_bytes(operation) + shape.from.offset(me), from + shape.to.offset(me), shape.from.bytes(me));
    task.phase = 2;
  }
  for (; task.peer < group.size(); ++task.peer) {
    if (task.peer == me) continue;
    const Line& line = group.line(task.peer, task.round);
    if (!arrived(line, task.round, row, task.polls)) return false;
    task.own[0] = std::max(task.own[0], line.word);
    if (const std::size_t bytes = part(shape.from.bytes(task.peer)); bytes != 0)
      copy_bytes(out_bytes(operation) + shape.from.offset(task.peer) + task.offset, cell_of(task.peer, me), bytes);
  }
  group.see_all(task.round);
  group.complete(task.round);
  task.offset += cell;
  task.phase = 0;
  return true;
}

std::size_t largest_cell(const Group& group) noexcept {
  return group.eager_bytes() / static_cast<std::size_t>(group.size()) / 16 * 16;
}

}  // namespace

Step alltoall_flat(Task& task) {
  const std::size_t cell = std::min(task.operation->bytes, largest_cell(*task.group));
  do {
    if (!exchange(task, even_blocks(*task.operation), cell, 0)) return Step::waiting;
  } while (task.offset < task.operation->bytes);
  task.phase = kPhaseDone;
  return Step::done;
}

Step alltoallv_flat(Task& task) {
  const auto shape = uneven_blocks(*task.operation);
  if (task.phase == 0 && task.offset == 0) {
    task.own[0] = shape.to.largest(task.group->size());
  }
  do {
    if (!exchange(task, shape, largest_cell(*task.group), task.own[0])) return Step::waiting;
  } while (task.offset < task.own[0]);
  task.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
