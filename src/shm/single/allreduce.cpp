// Allreduce by single copy: every member folds its share of the vector, which it reads from the others' inputs and
// writes into the others' results.
//
// The first share that a member reads lands in its own result, where it is needed anyway: another buffer would only
// occupy more of the caches. The parts are long, because each costs 2 x (members - 1) system calls; the bytes that were
// read and folded are still in the cache when they are written. Only its owner reads and writes a share, so in place no
// member overwrites input that another has yet to read.
#include "shm/single/copy.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kMeet, kFold, kThrough };

struct Addresses {
  const std::byte* in;
  std::byte* out;
};

Addresses told_by(const Group& group, int member, std::uint64_t round) noexcept {
  Addresses addresses;
  std::memcpy(&addresses, payload_of(group, member, round, sizeof addresses), sizeof addresses);
  return addresses;
}

/// The buffers for operands that cannot lie in the result: this member's large area. Every member is in this operation,
/// so none still reads there from an earlier one.
class Scratch {
 public:
  Scratch(const Group& group, const coll::Fold& fold) noexcept
      : at_(group.large(group.index())),
        half_(whole_elements(std::min(group.tuning().large.single_piece_bytes, group.large_bytes() / 2), fold)) {}
  std::size_t piece() const noexcept { return half_; }
  std::byte* sum() const noexcept { return at_; }
  std::byte* operand() const noexcept { return at_ + half_; }

 private:
  std::byte* at_;
  std::size_t half_;
};

/// Folds in(0) op in(1) op ... of one part, in rank order, into this member's result.
Copied fold_piece(Task& task, const Scratch& scratch, std::size_t at, std::size_t bytes) noexcept {
  const Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  const int me = group.index();
  std::byte* const result = out_bytes(operation) + at;
  const std::byte* const mine = in_bytes(operation) + at;
  const std::byte* sum = nullptr;
  for (int m = 0; m < group.size(); ++m) {
    // In place, the result is this member's input until its own operand is folded.
    std::byte* const to = operation.in_place() && m < me ? scratch.sum() : result;
    const std::byte* operand = mine;
    if (m != me) {
      const bool is_free = m == 0 || (sum == mine && !operation.in_place());
      std::byte* const place = is_free ? to : scratch.operand();
      const Copied copied = read_from(task, m, told_by(group, m, task.round).in + at, place, bytes);
      if (copied != Copied::all) return copied;
      operand = place;
    }
    if (m == 0) {
      sum = operand;
    } else {
      operation.fold->combine(to, sum, operand, bytes / operation.fold->element_bytes);
      sum = to;
    }
  }
  if (sum != result) std::memcpy(result, sum, bytes);  // Only a lone member gets here.
  return Copied::all;
}

/// Writes the part of the result into every other member's, in an order in which not all write to the same one at the
/// same time.
Copied give_piece(Task& task, std::size_t at, std::size_t bytes) noexcept {
  const Group& group = *task.group;
  for (std::uint64_t i = 0; i + 1 < static_cast<std::uint64_t>(group.size()); ++i) {
    const int m = group.other(i);
    const Copied copied =
        write_into(task, m, told_by(group, m, task.round).out + at, out_bytes(*task.operation) + at, bytes);
    if (copied != Copied::all) return copied;
  }
  return Copied::all;
}

}  // namespace

Step allreduce_single(Task& task) {
  Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  if (task.phase == kStart) {
    begin_round(task);
    task.phase = kTell;
  }
  if (task.phase == kTell) {
    if (!group.room(task.round, ring_for(sizeof(Addresses)))) return Step::waiting;
    const Addresses mine{in_bytes(operation), out_bytes(operation)};
    const bool open = is_open(mine.in, operation.bytes) && (operation.in_place() || is_open(mine.out, operation.bytes));
    tell(task, &mine, sizeof mine, open);
    task.phase = kMeet;
  }
  if (task.phase == kMeet) {
    if (!all_arrived(task, sizeof(Addresses))) return Step::waiting;
    if (!all_open(task)) return go_by(task, "blocks");
    task.phase = kFold;
  }
  if (task.phase == kFold) {
    const auto members = static_cast<std::size_t>(group.size()), me = static_cast<std::size_t>(group.index());
    const std::size_t each = coll::even_step(operation.bytes, members, unit_for(operation.fold->element_bytes));
    const std::size_t begin = std::min(operation.bytes, me * each), end = std::min(operation.bytes, begin + each);
    const Scratch scratch(group, *operation.fold);
    for (std::size_t at = begin + task.offset; at < end; at = begin + task.offset) {
      const std::size_t bytes = std::min(scratch.piece(), end - at);
      Copied copied = fold_piece(task, scratch, at, bytes);
      if (copied == Copied::all) copied = give_piece(task, at, bytes);
      if (copied != Copied::all) return step_for(group, copied);
      task.offset += bytes;
      task.has_moved = true;
    }
    say_through(task);
    task.phase = kThrough;
  }
  return finish_together(task);
}

}  // namespace sumac::shm
