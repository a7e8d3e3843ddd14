// The root publishes and goes on; the others copy. Several rounds fill the ring of eager buffers and so form a
// pipeline.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step bcast_flat(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t bytes = std::min(operation.bytes - task.offset, group.eager_bytes());
    std::byte* const shared = payload_of(group, operation.root, task.round, bytes);
    if (group.index() == operation.root) {
      if (!group.room(task.round, ring_for(bytes))) return Step::waiting;
      copy_in(group, shared, out_bytes(operation) + task.offset, bytes);
      publish(group.line(operation.root, task.round), task.round, bytes);
    } else {
      if (!arrived(group.line(operation.root, task.round), task.round, bytes, task.polls)) return Step::waiting;
      copy_bytes(out_bytes(operation) + task.offset, shared, bytes);
    }
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
