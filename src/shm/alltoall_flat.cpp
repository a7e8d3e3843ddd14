// Everybody publishes its row, one cell for each receiver, and reads its own cell of every row.
//
// alltoallv: a member knows its own counts only, so everybody says in its line how large its largest block is; having seen
// all lines of the first round, all know how many rounds there are.
#include "shm/rounds.hpp"
#include "shm/steps.hpp"

namespace sumac::shm {

namespace {

struct Even {
  static constexpr bool kFillsRow = true;
  const Call& call;
  std::size_t to_bytes(int) const { return call.bytes; }
  std::size_t from_bytes(int) const { return call.bytes; }
  std::ptrdiff_t to_offset(int i) const { return static_cast<std::ptrdiff_t>(call.bytes) * i; }
  std::ptrdiff_t from_offset(int i) const { return to_offset(i); }
};

struct Uneven {
  static constexpr bool kFillsRow = false;  ///< A cell has room for the largest block that there may be.
  const Call& call;
  const Blocks& to() const { return call.in_place() ? call.out_blocks : call.in_blocks; }
  std::size_t to_bytes(int i) const { return to().bytes(i); }
  std::size_t from_bytes(int i) const { return call.out_blocks.bytes(i); }
  std::ptrdiff_t to_offset(int i) const { return to().offset(i); }
  std::ptrdiff_t from_offset(int i) const { return call.out_blocks.offset(i); }
};

/// One round: `cell` bytes of each block, from op.offset on. In place, what is sent has been copied before anything that
/// replaces it arrives, and both have the same place and size.
template <class Shape>
bool exchange(Operation& op, const Shape& shape, std::size_t cell, std::uint64_t word) {
  Group& group = *op.group;
  const Call& call = *op.call;
  const int me = group.index();
  const std::size_t row = cell * static_cast<std::size_t>(group.size());
  const auto part = [&](std::size_t bytes) { return std::min(bytes - std::min(op.offset, bytes), cell); };
  const auto cell_of = [&](int owner, int receiver) {
    return payload_of(group, owner, op.round, row) + cell * static_cast<std::size_t>(receiver);
  };
  if (op.phase == 0) {
    begin_round(op);
    op.phase = 1;
  }
  if (op.phase == 1) {
    if (!group.room(op.round, ring_for(row))) return false;
    const std::byte* from = in_bytes(call);
    for (int m = 0; m < group.size(); ++m) {
      if (m == me) continue;
      if (const std::size_t bytes = part(shape.to_bytes(m)); bytes != 0)
        std::memcpy(cell_of(me, m), from + shape.to_offset(m) + op.offset, bytes);
    }
    Line& line = group.line(me, op.round);
    line.word = word;
    publish(line, op.round, row);
    if (Shape::kFillsRow) claim_next(group, op.round, row);
    if (op.offset == 0 && !call.in_place() && shape.from_bytes(me) != 0)
      std::memcpy(out_bytes(call) + shape.from_offset(me), from + shape.to_offset(me), shape.from_bytes(me));
    op.phase = 2;
  }
  for (; op.peer < group.size(); ++op.peer) {
    if (op.peer == me) continue;
    const Line& line = group.line(op.peer, op.round);
    if (!arrived(line, op.round, row, op.polls)) return false;
    op.own[0] = std::max(op.own[0], line.word);
    if (const std::size_t bytes = part(shape.from_bytes(op.peer)); bytes != 0)
      std::memcpy(out_bytes(call) + shape.from_offset(op.peer) + op.offset, cell_of(op.peer, me), bytes);
  }
  group.see_all(op.round);
  group.complete(op.round);
  op.offset += cell;
  op.phase = 0;
  return true;
}

std::size_t largest_cell(const Group& group) noexcept {
  return group.eager_bytes() / static_cast<std::size_t>(group.size()) / 16 * 16;
}

}  // namespace

Step alltoall_flat(Operation& op) {
  const std::size_t cell = std::min(op.call->bytes, largest_cell(*op.group));
  do {
    if (!exchange(op, Even{*op.call}, cell, 0)) return Step::waiting;
  } while (op.offset < op.call->bytes);
  op.phase = kPhaseDone;
  return Step::done;
}

Step alltoallv_flat(Operation& op) {
  const Uneven shape{*op.call};
  if (op.phase == 0 && op.offset == 0) {
    op.own[0] = 0;
    for (int m = 0; m < op.group->size(); ++m) op.own[0] = std::max<std::uint64_t>(op.own[0], shape.to_bytes(m));
  }
  do {
    if (!exchange(op, shape, largest_cell(*op.group), op.own[0])) return Step::waiting;
  } while (op.offset < op.own[0]);
  op.phase = kPhaseDone;
  return Step::done;
}

}  // namespace sumac::shm
