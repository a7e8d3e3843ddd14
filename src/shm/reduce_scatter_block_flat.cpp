// Everybody publishes its vector, one cell for each receiver, and folds its own cell of every vector in rank order.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step reduce_scatter_block_flat(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  const auto members = static_cast<std::size_t>(group.size());
  for (;;) {
    if (op.phase == 0) {
      begin_round(op);
      op.phase = 1;
    }
    const std::size_t cell =
        std::min(call.bytes - op.offset, whole_elements(group.eager_bytes() / members, *call.fold));
    const auto row_of = [&](int m) { return payload_of(group, m, op.round, cell * members); };
    if (op.phase == 1) {
      if (!group.room(op.round, ring_for(cell * members))) return Step::waiting;
      // In place, the result replaces the first block up to op.offset only, and that much of it has been published.
      for (std::size_t m = 0; m < members; ++m)
        std::memcpy(row_of(group.index()) + m * cell, in_bytes(call) + m * call.bytes + op.offset, cell);
      publish(group.line(group.index(), op.round), op.round, cell * members);
      claim_next(group, op.round, cell * members);
      op.phase = 2;
    }
    if (!all_arrived(op, cell * members)) return Step::waiting;
    // In place, the own operand lies in its own block: what the fold overwrites is block 0, at member 0 as its first operand.
    const std::size_t mine = static_cast<std::size_t>(group.index());
    const std::byte* own = in_bytes(call) + mine * call.bytes + op.offset;
    fold_all(*call.fold, group.size(), out_bytes(call) + op.offset, cell,
             [&](int m) { return m == group.index() ? own : row_of(m) + mine * cell; });
    group.complete(op.round);
    op.offset += cell;
    if (op.offset >= call.bytes) break;
    op.phase = 0;
  }
  op.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
