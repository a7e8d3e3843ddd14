// Everybody but the root publishes and goes on; the root folds in rank order.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step reduce_flat(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  const bool is_root = group.index() == call.root;
  for (;;) {
    if (op.phase == 0) {
      begin_round(op);
      op.phase = 1;
    }
    const std::size_t bytes = std::min(call.bytes - op.offset, whole_elements(group.eager_bytes(), *call.fold));
    std::byte* const own_copy = payload_of(group, group.index(), op.round, bytes);
    const bool copies = !is_root || call.in_place();  // at the root, in place, `out` is overwritten by the first fold
    if (op.phase == 1) {
      if (copies) {
        if (!group.room(op.round, ring_for(bytes))) return Step::waiting;
        std::memcpy(own_copy, (is_root ? in_bytes(call) : static_cast<const std::byte*>(call.in)) + op.offset, bytes);
      }
      if (!is_root) publish(group.line(group.index(), op.round), op.round, bytes);
      op.phase = 2;
    }
    if (is_root) {
      for (; op.peer < group.size(); ++op.peer) {
        if (op.peer == call.root) continue;
        if (!arrived(group.line(op.peer, op.round), op.round, bytes, op.polls)) return Step::waiting;
      }
      const std::byte* own = copies ? own_copy : in_bytes(call) + op.offset;
      fold_all(*call.fold, group.size(), out_bytes(call) + op.offset, bytes,
               [&](int m) { return m == call.root ? own : payload_of(group, m, op.round, bytes); });
    }
    group.complete(op.round);
    op.offset += bytes;
    if (op.offset >= call.bytes) break;
    op.phase = 0;
  }
  op.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
