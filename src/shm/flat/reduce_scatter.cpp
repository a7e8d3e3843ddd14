// Every member publishes its vector and folds its own block of all of them. The blocks differ in length, so a round takes a
// part of the whole vector, in which some members may have nothing to fold.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step reduce_scatter_flat(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const int me = group.index();
  const std::size_t begin = coll::begin_in_a_row(operation.in_blocks, me);
  const std::size_t end = begin + operation.in_blocks.bytes(me);
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t bytes =
        std::min(operation.bytes - task.offset, whole_elements(group.eager_bytes(), *operation.fold));
    const auto published = [&](int m) { return payload_of(group, m, task.round, bytes); };
    if (task.phase == 1) {
      if (!group.room(task.round, ring_for(bytes))) return Step::waiting;
      copy_in(group, published(me), in_bytes(operation) + task.offset, bytes);
      publish(group.line(me, task.round), task.round, bytes);
      claim_next(group, task.round, bytes);
      task.phase = 2;
    }
    if (!all_arrived(task, bytes)) return Step::waiting;
    const std::size_t from = std::max(begin, task.offset), to = std::min(end, task.offset + bytes);
    // In place the result begins where the input does, and may lie over this member's own block.
    const std::byte* const own =
        operation.in_place() ? published(me) - task.offset : static_cast<const std::byte*>(operation.in);
    if (from < to)
      fold_all(*operation.fold, group.size(), out_bytes(operation) + (from - begin), to - from,
               [&](int m) { return m == me ? own + from : published(m) + (from - task.offset); });
    if (end_round(task, bytes, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
