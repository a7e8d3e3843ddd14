// The root publishes and goes on; everybody copies. Several rounds fill the ring of eager buffers: a pipeline of its own.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

Step bcast_flat(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  for (;;) {
    if (op.phase == 0) {
      begin_round(op);
      op.phase = 1;
    }
    const std::size_t bytes = std::min(call.bytes - op.offset, group.eager_bytes());
    std::byte* const shared = payload_of(group, call.root, op.round, bytes);
    if (group.index() == call.root) {
      if (!group.room(op.round, ring_for(bytes))) return Step::waiting;
      std::memcpy(shared, out_bytes(call) + op.offset, bytes);
      publish(group.line(call.root, op.round), op.round, bytes);
    } else {
      if (!arrived(group.line(call.root, op.round), op.round, bytes, op.polls)) return Step::waiting;
      std::memcpy(out_bytes(call) + op.offset, shared, bytes);
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
