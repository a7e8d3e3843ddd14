// Every member but the root publishes and goes on; the root folds.
#include "shm/rooted.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step reduce_flat(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const bool is_root = group.index() == operation.root;
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t bytes =
        std::min(operation.bytes - task.offset, whole_elements(group.eager_bytes(), *operation.fold));
    std::byte* const own_copy = rooted::payload(group, group.index(), task.round, bytes);
    const bool copies =
        !is_root || operation.in_place();  // At the root, in place, `out` is overwritten by the first fold
    if (task.phase == 1) {
      if (copies) {
        if (!rooted::room(group, task.round, bytes)) return Step::waiting;
        rooted::write(group, task.round, own_copy,
                      (is_root ? in_bytes(operation) : static_cast<const std::byte*>(operation.in)) + task.offset,
                      bytes);
      }
      if (!is_root) rooted::publish_slot(group, group.index(), task.round, bytes);
      task.phase = 2;
    }
    if (is_root) {
      for (; task.peer < group.size(); ++task.peer) {
        if (task.peer == operation.root) continue;
        if (!arrived(rooted::line(group, task.peer, task.round), task.round, bytes, task.polls)) return Step::waiting;
      }
      const std::byte* own = copies ? own_copy : in_bytes(operation) + task.offset;
      fold_all(*operation.fold, group.size(), out_bytes(operation) + task.offset, bytes,
               [&](int m) { return m == operation.root ? own : rooted::payload(group, m, task.round, bytes); });
    }
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
