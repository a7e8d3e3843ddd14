// Everybody publishes its vector and folds all of them in rank order: no rank waits for a second turn of another. More
// bytes than an eager buffer go in several rounds.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step allreduce_flat(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  for (;;) {
    if (op.phase == 0) {
      begin_round(op);
      op.phase = 1;
    }
    const std::size_t bytes = std::min(call.bytes - op.offset, whole_elements(group.eager_bytes(), *call.fold));
    if (op.phase == 1) {
      if (!group.room(op.round, ring_for(bytes))) return Step::waiting;
      std::memcpy(payload_of(group, group.index(), op.round, bytes), in_bytes(call) + op.offset, bytes);
      publish(group.line(group.index(), op.round), op.round, bytes);
      claim_next(group, op.round, bytes);
      op.phase = 2;
    }
    if (!all_arrived(op, bytes)) return Step::waiting;
    const std::byte* own =
        own_operand(call, group.index(), op.offset, payload_of(group, group.index(), op.round, bytes));
    fold_all(*call.fold, group.size(), out_bytes(call) + op.offset, bytes,
             [&](int m) { return m == group.index() ? own : payload_of(group, m, op.round, bytes); });
    group.complete(op.round);
    op.offset += bytes;
    if (op.offset >= call.bytes) break;
    op.phase = 0;
  }
  op.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
