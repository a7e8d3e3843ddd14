// Every member publishes its vector and folds all of them, so no rank waits twice for another. A vector
// larger than an eager buffer takes several rounds.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step allreduce_flat(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t bytes =
        std::min(operation.bytes - task.offset, whole_elements(group.eager_bytes(), *operation.fold));
    if (task.phase == 1) {
      if (!group.room(task.round, ring_for(bytes))) return Step::waiting;
      copy_in(group, payload_of(group, group.index(), task.round, bytes), in_bytes(operation) + task.offset, bytes);
      publish(group.line(group.index(), task.round), task.round, bytes);
      claim_next(group, task.round, bytes);
      task.phase = 2;
    }
    if (!all_arrived(task, bytes)) return Step::waiting;
    const std::byte* own =
        own_operand(operation, group.index(), task.offset, payload_of(group, group.index(), task.round, bytes));
    fold_all(*operation.fold, group.size(), out_bytes(operation) + task.offset, bytes,
             [&](int m) { return m == group.index() ? own : payload_of(group, m, task.round, bytes); });
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
