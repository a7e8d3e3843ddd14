// The root publishes and goes on; the others copy. Several rounds fill a ring of buffers and so form a pipeline.
#include "shm/rooted.hpp"
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
    std::byte* const shared = rooted::payload(group, operation.root, task.round, bytes);
    Line& line = rooted::line(group, operation.root, task.round);
    if (group.index() == operation.root) {
      if (!rooted::room(group, task.round, bytes)) return Step::waiting;
      rooted::write(group, task.round, shared, out_bytes(operation) + task.offset, bytes);
      rooted::publish_slot(group, operation.root, task.round, bytes);
    } else {
      if (!arrived(line, task.round, bytes, task.polls)) return Step::waiting;
      copy_bytes(out_bytes(operation) + task.offset, shared, bytes);
    }
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
