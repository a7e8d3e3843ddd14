// Every member publishes its block and copies all others. In allgatherv every member knows all counts, so all know how
// many rounds the largest block needs.
#include "shm/block_shapes.hpp"
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

template <class Shape>
Step gather(Task& task, const Shape& shape) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const std::size_t largest = shape.largest(group.size());
  const auto part = [&](int m) {
    return std::min(shape.bytes(m) - std::min(task.offset, shape.bytes(m)), group.eager_bytes());
  };
  const auto target = [&](int m) { return out_bytes(operation) + shape.offset(m) + task.offset; };
  const int me = group.index();
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t own = part(me);
    if (task.phase == 1) {
      if (!group.room(task.round, ring_for(own))) return Step::waiting;
      const std::byte* source =
          operation.in_place() ? target(me) : static_cast<const std::byte*>(operation.in) + task.offset;
      copy_in(group, payload_of(group, me, task.round, own), source, own);
      publish(group.line(me, task.round), task.round, own);
      claim_next(group, task.round, own);
      if (!operation.in_place()) copy_bytes(target(me), source, own);
      task.phase = 2;
    }
    for (; task.peer < group.size(); ++task.peer) {
      if (task.peer == me) continue;
      const std::size_t bytes = part(task.peer);
      if (!arrived(group.line(task.peer, task.round), task.round, bytes, task.polls)) return Step::waiting;
      copy_bytes(target(task.peer), payload_of(group, task.peer, task.round, bytes), bytes);
    }
    group.see_all(task.round);
    if (end_round(task, group.eager_bytes(), largest)) return Step::done;
  }
}

}  // namespace

Step allgather_flat(Task& task) { return gather(task, EvenBlocks{task.operation->bytes}); }
Step allgatherv_flat(Task& task) { return gather(task, UnevenBlocks{task.operation->out_blocks}); }

}  // namespace sumac::shm
