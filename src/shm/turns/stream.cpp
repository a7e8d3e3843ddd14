// One member's vector goes to the others (bcast), or theirs to one (reduce) or to all (allreduce): turn by turn
// through the owner's slices, so that the others read one part while the owner writes the next. A member that only
// writes leaves as soon as everything is in its slices. In an allreduce every member folds all vectors,
// so all get the same bits.
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

coll::Cut one_way_parts(const Group& group, std::size_t bytes, std::size_t unit) noexcept {
  const LargeTuning& large = group.tuning().large;
  return cut_one_way(bytes, turn_limit(group, large.stream_turn_bytes), large.one_way_turns, unit);
}

}  // namespace

Step bcast_stream(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  Turns turns(task);
  const coll::Cut parts = one_way_parts(group, operation.bytes, kCacheLine);
  const bool root = group.index() == operation.root;
  if (task.phase == 0) turns.begin(parts.count);
  const auto move = [&] {
    const std::uint64_t turn = turns.taken();
    const std::size_t offset = turn * parts.step;
    const std::size_t bytes = coll::part_at(offset, operation.bytes, parts.step);
    std::byte* const user = out_bytes(operation) + offset;
    std::byte* const slice = turns.slice(operation.root, turn);
    if (root) {
      if (!turns.free(turn)) return false;
      group.stores.fill([&] { copy_in(group, slice, user, bytes); });
      turns.say(Turns::kWritten, turn);
    } else {
      if (!turns.seen(Turns::kWritten, operation.root, turn)) return false;
      copy_bytes(user, slice, bytes);
      turns.say(Turns::kFinished, turn);
    }
    ++turns.taken();
    return true;
  };
  return drive(task, turns, move, [&] { return turns.taken() == turns.count(); });
}

namespace {

coll::Cut fold_parts(const Group& group, const coll::Operation& operation) noexcept {
  return cut_into_turns(operation.bytes, turn_limit(group, group.tuning().large.stream_turn_bytes),
                        unit_for(operation.fold->element_bytes));
}

/// Folds the next turn of all vectors into this member's output, once every member has written it.
bool fold_turn(Task& task, Turns& turns, const coll::Cut& parts) {
  const std::uint64_t turn = turns.taken();
  if (!turns.seen_all(Turns::kWritten, turn, turns.fold_peers())) return false;
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const std::size_t offset = turn * parts.step;
  fold_pieces(group, operation, coll::part_at(offset, operation.bytes, parts.step), out_bytes(operation) + offset,
              nullptr, [&](int m) { return m == group.index() ? in_bytes(operation) + offset : turns.slice(m, turn); });
  turns.has_taken();
  return true;
}

}  // namespace

Step reduce_stream(Task& task) {
  const coll::Operation& operation = *task.operation;
  const int me = task.group->index();
  Turns turns(task);
  const coll::Cut parts = one_way_parts(*task.group, operation.bytes, unit_for(operation.fold->element_bytes));
  if (task.phase == 0) turns.begin(parts.count);
  const auto move = [&] {
    if (me == operation.root) return fold_turn(task, turns, parts);
    const std::uint64_t turn = turns.taken();
    if (!turns.free(turn)) return false;
    const std::size_t offset = turn * parts.step;
    task.group->stores.fill([&] {
      copy_in(*task.group, turns.slice(me, turn), in_bytes(operation) + offset,
              coll::part_at(offset, operation.bytes, parts.step));
    });
    turns.say(Turns::kWritten, turn);
    turns.has_taken();  // It reads nothing, and the other writers must know that.
    return true;
  };
  return drive(task, turns, move, [&] { return turns.taken() == turns.count(); });
}

Step allreduce_stream(Task& task) {
  const coll::Operation& operation = *task.operation;
  Turns turns(task);
  const coll::Cut parts = fold_parts(*task.group, operation);
  if (task.phase == 0) turns.begin(parts.count);
  const auto fill = [&](std::uint64_t turn, std::byte* slice) {
    const std::size_t offset = turn * parts.step;
    copy_in(*task.group, slice, in_bytes(operation) + offset, coll::part_at(offset, operation.bytes, parts.step));
  };
  const auto move = [&] {
    const bool filled = turns.fill(fill);
    // In place, the result of the fold overwrites the input, so the input must already be in the slice.
    return (turns.taken() < turns.filled() && fold_turn(task, turns, parts)) || filled;
  };
  return drive(task, turns, move, [&] { return turns.taken() == turns.count(); });
}

}  // namespace sumac::shm
