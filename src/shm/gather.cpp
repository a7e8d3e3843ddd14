// Sends the blocks of all members to the root. The other members write their blocks and go on; the root copies them
// into the user's buffer.
//
// In gatherv only the root knows all counts. It publishes the largest one with its first round, or the number of turns
// with its first turn, and the others wait for that, because every member must count the same rounds and turns.
#include "shm/block_shapes.hpp"
#include "shm/rooted.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

template <class Shape>
void keep_own(const Task& task, const Shape& shape) noexcept {
  const coll::Operation& operation = *task.operation;
  const int me = task.group->index();
  if (operation.in_place() || shape.bytes(me) == 0) return;
  copy_bytes(out_bytes(operation) + shape.offset(me), in_bytes(operation), shape.bytes(me));
}

// ---- flat: in rounds of one eager buffer. task.own[0] is the size of the largest block in bytes.

template <class Shape>
bool collect_round(Task& task, const Shape& shape) {
  Group& group = *task.group;
  if (task.phase == 1) {
    if (!Shape::kIsEven && task.offset == 0) {
      if (!rooted::room(group, task.round, 0)) return false;
      Line& line = rooted::line(group, group.index(), task.round);
      line.word = task.own[0];
      publish(line, task.round, 0);
    }
    task.phase = 2;
  }
  for (; task.peer < group.size(); ++task.peer) {
    const std::size_t bytes = coll::part_at(task.offset, shape.bytes(task.peer), group.eager_bytes());
    if (task.peer == group.index() || bytes == 0) continue;
    if (!arrived(rooted::line(group, task.peer, task.round), task.round, bytes, task.polls)) return false;
    copy_bytes(out_bytes(*task.operation) + shape.offset(task.peer) + task.offset,
               rooted::payload(group, task.peer, task.round, bytes), bytes);
  }
  return true;
}

template <class Shape>
bool give_round(Task& task) {
  Group& group = *task.group;
  const std::size_t bytes = coll::part_at(task.offset, task.operation->bytes, group.eager_bytes());
  if (task.phase == 1) {
    if (bytes != 0) {
      if (!rooted::room(group, task.round, bytes)) return false;
      rooted::write(group, task.round, rooted::payload(group, group.index(), task.round, bytes),
                    static_cast<const std::byte*>(task.operation->in) + task.offset, bytes);
      rooted::publish_slot(group, group.index(), task.round, bytes);
    }
    task.phase = 2;
  }
  if (!Shape::kIsEven && task.offset == 0) {
    const Line& line = rooted::line(group, task.operation->root, task.round);
    if (!arrived(line, task.round, 0, task.polls)) return false;
    task.own[0] = line.word;
  }
  return true;
}

template <class Shape>
Step gather_by_rounds(Task& task, const Shape& shape) {
  Group& group = *task.group;
  const bool is_root = group.index() == task.operation->root;
  for (;;) {
    if (task.phase == 0) {
      if (task.offset == 0 && (is_root || Shape::kIsEven)) task.own[0] = shape.largest(group.size());
      if (task.offset == 0 && is_root) keep_own(task, shape);
      begin_round(task);
      task.phase = 1;
    }
    if (is_root ? !collect_round(task, shape) : !give_round<Shape>(task)) return Step::waiting;
    if (end_round(task, group.eager_bytes(), task.own[0])) return Step::done;
  }
}

// ---- stream: turn by turn through the members' slices.

template <class Shape>
bool collect_turn(Task& task, Turns& turns, const Shape& shape, std::size_t step) {
  const auto others = static_cast<std::uint64_t>(task.group->size() - 1);
  const std::uint64_t turn = turns.taken();
  const std::size_t offset = turn * step;
  if (!Shape::kIsEven && turn == 0 && turns.filled() == 0) {
    const auto write = [&](std::uint64_t, std::byte* slice) {
      const std::uint64_t needed = turns.count();
      std::memcpy(slice, &needed, sizeof needed);
    };
    if (!turns.fill(write)) return false;
  }
  bool moved = false;
  for (std::uint64_t& i = turns.take_peers(); i < others; ++i) {
    const int m = turns.other(i);
    const std::size_t bytes = coll::part_at(offset, shape.bytes(m), step);
    if (bytes == 0) continue;
    if (!turns.seen(Turns::kWritten, m, turn)) return moved;
    copy_bytes(out_bytes(*task.operation) + shape.offset(m) + offset, turns.slice(m, turn), bytes);
    moved = true;
  }
  turns.take_peers() = 0;
  turns.has_taken();
  return true;
}

template <class Shape>
bool give_turn(Task& task, Turns& turns, std::size_t step) {
  const std::uint64_t turn = turns.taken();
  const std::size_t offset = turn * step;
  const std::size_t bytes = coll::part_at(offset, task.operation->bytes, step);
  // The first turn has two halves if this member must wait for the root's number.
  if (turns.filled() == turn) {
    const auto write = [&](std::uint64_t, std::byte* slice) {
      copy_in(*task.group, slice, static_cast<const std::byte*>(task.operation->in) + offset, bytes);
    };
    if (!turns.fill(write)) return false;
  }
  if (!Shape::kIsEven && turn == 0) {
    if (!turns.seen(Turns::kWritten, task.operation->root, turn)) return false;
    std::uint64_t needed = 0;
    std::memcpy(&needed, turns.slice(task.operation->root, turn), sizeof needed);
    turns.grow(needed);
  }
  turns.has_taken();
  return true;
}

template <class Shape>
Step gather_by_turns(Task& task, const Shape& shape) {
  const Group& group = *task.group;
  const bool is_root = group.index() == task.operation->root;
  const std::size_t limit = turn_limit(group, group.tuning().large.exchange_turn_bytes);
  Turns turns(task);
  // If the members do not know all counts, a part has its full length.
  const std::size_t step =
      Shape::kIsEven ? cut_into_turns(task.operation->bytes, limit, kCacheLine).step : limit / kCacheLine * kCacheLine;
  if (task.phase == 0) {
    const std::size_t largest = is_root || Shape::kIsEven ? shape.largest(group.size()) : 0;
    turns.begin(std::max<std::size_t>(coll::divide_up(largest, step), 1));
    if (is_root) keep_own(task, shape);
  }
  const auto move = [&] {
    return is_root ? collect_turn(task, turns, shape, step) : give_turn<Shape>(task, turns, step);
  };
  return drive(task, turns, move, [&] { return turns.taken() == turns.count(); });
}

}  // namespace

Step gather_flat(Task& task) { return gather_by_rounds(task, EvenBlocks{task.operation->bytes}); }
Step gatherv_flat(Task& task) { return gather_by_rounds(task, UnevenBlocks{task.operation->out_blocks}); }
Step gather_stream(Task& task) { return gather_by_turns(task, EvenBlocks{task.operation->bytes}); }
Step gatherv_stream(Task& task) { return gather_by_turns(task, UnevenBlocks{task.operation->out_blocks}); }

}  // namespace sumac::shm
