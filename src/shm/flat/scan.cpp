// Every member but the last publishes and goes on; each folds the vectors of the members up to itself, or before it. A member waits for
// those before it alone, so the rings are those of rooted collectives.
#include "shm/rooted.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

Step prefix(Task& task, bool is_exclusive) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const int me = group.index();
  const bool is_last = me + 1 == group.size();
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t bytes =
        std::min(operation.bytes - task.offset, whole_elements(group.eager_bytes(), *operation.fold));
    std::byte* const own_copy = rooted::payload(group, me, task.round, bytes);
    if (task.phase == 1) {
      if (!is_last || (operation.in_place() && !is_exclusive)) {  // In place the fold reads the copy (own_operand()).
        if (!rooted::room(group, task.round, bytes)) return Step::waiting;
        rooted::write(group, task.round, own_copy, in_bytes(operation) + task.offset, bytes);
      }
      if (!is_last) rooted::publish_slot(group, me, task.round, bytes);
      task.phase = 2;
    }
    for (; task.peer < me; ++task.peer)
      if (!arrived(rooted::line(group, task.peer, task.round), task.round, bytes, task.polls)) return Step::waiting;
    const std::byte* const own = own_operand(operation, me, task.offset, own_copy);
    if (const int members = is_exclusive ? me : me + 1; members > 0)
      fold_all(*operation.fold, members, out_bytes(operation) + task.offset, bytes,
               [&](int m) { return m == me ? own : rooted::payload(group, m, task.round, bytes); });
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace

Step scan_flat(Task& task) { return prefix(task, false); }
Step exscan_flat(Task& task) { return prefix(task, true); }

}  // namespace sumac::shm
