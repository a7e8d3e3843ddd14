// Everybody publishes its block and copies all others. allgatherv: everybody knows all counts, so all know how many rounds
// the largest block needs.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

struct Even {
  const Call& call;
  std::size_t bytes(int) const { return call.bytes; }
  std::ptrdiff_t offset(int i) const { return static_cast<std::ptrdiff_t>(call.bytes) * i; }
  std::size_t largest(const Group&) const { return call.bytes; }
};

struct Uneven {
  const Call& call;
  std::size_t bytes(int i) const { return call.out_blocks.bytes(i); }
  std::ptrdiff_t offset(int i) const { return call.out_blocks.offset(i); }
  std::size_t largest(const Group& group) const { return selection_bytes(call, group.size()); }
};

template <class Shape>
Step gather(Operation& op, const Shape& shape) {
  Group& group = *op.group;
  const Call& call = *op.call;
  const std::size_t largest = shape.largest(group);
  const auto part = [&](int m) {
    return std::min(shape.bytes(m) - std::min(op.offset, shape.bytes(m)), group.eager_bytes());
  };
  const auto target = [&](int m) { return out_bytes(call) + shape.offset(m) + op.offset; };
  const int me = group.index();
  for (;;) {
    if (op.phase == 0) {
      begin_round(op);
      op.phase = 1;
    }
    const std::size_t own = part(me);
    if (op.phase == 1) {
      if (!group.room(op.round, ring_for(own))) return Step::waiting;
      const std::byte* source = call.in_place() ? target(me) : static_cast<const std::byte*>(call.in) + op.offset;
      std::memcpy(payload_of(group, me, op.round, own), source, own);
      publish(group.line(me, op.round), op.round, own);
      claim_next(group, op.round, own);
      if (!call.in_place()) std::memcpy(target(me), source, own);
      op.phase = 2;
    }
    for (; op.peer < group.size(); ++op.peer) {
      if (op.peer == me) continue;
      const std::size_t bytes = part(op.peer);
      if (!arrived(group.line(op.peer, op.round), op.round, bytes, op.polls)) return Step::waiting;
      std::memcpy(target(op.peer), payload_of(group, op.peer, op.round, bytes), bytes);
    }
    group.see_all(op.round);
    group.complete(op.round);
    op.offset += group.eager_bytes();
    if (op.offset >= largest) break;
    op.phase = 0;
  }
  op.phase = kPhaseDone;
  return Step::done;
}

}  // namespace

Step allgather_flat(Operation& op) { return gather(op, Even{*op.call}); }
Step allgatherv_flat(Operation& op) { return gather(op, Uneven{*op.call}); }

}  // namespace sumac::shm
