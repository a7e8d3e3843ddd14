// Every member publishes its vector, one cell for each receiver, and folds its own cell of every vector.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step reduce_scatter_block_flat(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const auto members = static_cast<std::size_t>(group.size());
  for (;;) {
    if (task.phase == 0) {
      begin_round(task);
      task.phase = 1;
    }
    const std::size_t cell =
        std::min(operation.bytes - task.offset, whole_elements(group.eager_bytes() / members, *operation.fold));
    const auto row_of = [&](int m) { return payload_of(group, m, task.round, cell * members); };
    if (task.phase == 1) {
      if (!group.room(task.round, ring_for(cell * members))) return Step::waiting;
      // In place, the result overwrites the first block only up to op.offset, and that part has already been published.
      for (std::size_t m = 0; m < members; ++m)
        copy_in(group, row_of(group.index()) + m * cell, in_bytes(operation) + m * operation.bytes + task.offset, cell);
      publish(group.line(group.index(), task.round), task.round, cell * members);
      claim_next(group, task.round, cell * members);
      task.phase = 2;
    }
    if (!all_arrived(task, cell * members)) return Step::waiting;
    // In place, this member's operand lies in its own block, while the fold overwrites block 0; at member 0 that is the
    // first operand, which a fold may overwrite.
    const std::size_t mine = static_cast<std::size_t>(group.index());
    const std::byte* own = in_bytes(operation) + mine * operation.bytes + task.offset;
    fold_all(*operation.fold, group.size(), out_bytes(operation) + task.offset, cell,
             [&](int m) { return m == group.index() ? own : row_of(m) + mine * cell; });
    if (end_round(task, cell, operation.bytes)) return Step::done;
  }
}

}  // namespace sumac::shm
