// One member's vector to the others (bcast), or theirs to one (reduce): chunk by chunk through the owner's slices, so that
// it is read while the next chunk is written. Who only writes is away as soon as everything is in its slices.
#include "shm/steps.hpp"
#include "shm/turns.hpp"

namespace sumac::shm {

Step bcast_stream(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  Turns turns(op);
  const Chunks chunks = cut(call.bytes, turn_limit(group, group.tuning().large.stream_turn_bytes), kCacheLine);
  const bool root = group.index() == call.root;
  if (op.phase == 0) turns.begin(chunks.count);
  const auto move = [&] {
    const std::uint64_t turn = turns.taken();
    const std::size_t offset = turn * chunks.bytes;
    const std::size_t bytes = part_at(offset, call.bytes, chunks.bytes);
    std::byte* const user = out_bytes(call) + offset;
    std::byte* const slice = turns.slice(call.root, turn);
    if (root) {
      if (!turns.free(turn)) return false;
      std::memcpy(slice, user, bytes);
      turns.say(Turns::kWritten, turn);
    } else {
      if (!turns.seen(Turns::kWritten, call.root, turn)) return false;
      std::memcpy(user, slice, bytes);
      turns.say(Turns::kFinished, turn);
    }
    ++turns.taken();
    return true;
  };
  return drive(op, turns, move, [&] { return turns.taken() == turns.count(); });
}

Step reduce_stream(Operation& op) {
  Group& group = *op.group;
  const Call& call = *op.call;
  const Fold& fold = *call.fold;
  Turns turns(op);
  const int me = group.index();
  const Chunks chunks =
      cut(call.bytes, turn_limit(group, group.tuning().large.stream_turn_bytes), unit_for(fold.element_bytes));
  const std::size_t step = std::max(whole_elements(group.tuning().large.fold_bytes, fold), fold.element_bytes);
  if (op.phase == 0) turns.begin(chunks.count);
  const auto move = [&] {
    const std::uint64_t turn = turns.taken();
    const std::size_t offset = turn * chunks.bytes;
    const std::size_t bytes = part_at(offset, call.bytes, chunks.bytes);
    std::byte* const slice = turns.slice(me, turn);
    // The root, too, writes to its slice: sums of more than two grow there.
    if (!turns.free(turn)) return false;
    if (me != call.root) {
      std::memcpy(slice, in_bytes(call) + offset, bytes);
      turns.say(Turns::kWritten, turn);
    } else {
      turns.say(Turns::kWritten, turn);
      if (!turns.seen_all(Turns::kWritten, turn, turns.fold_peers())) return false;
      for (std::size_t at = 0; at < bytes; at += step) {
        const std::size_t part = std::min(step, bytes - at);
        fold_through(fold, group.size(), out_bytes(call) + offset + at, slice + at, part, [&](int m) {
          return m == me ? in_bytes(call) + offset + at : turns.slice(m, turn) + at;
        });
      }
      turns.say(Turns::kFinished, turn);
    }
    ++turns.taken();
    return true;
  };
  return drive(op, turns, move, [&] { return turns.taken() == turns.count(); });
}

}  // namespace sumac::shm
