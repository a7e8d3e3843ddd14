// Allreduce by single copy: every member folds its share of the vector, which it reads from the others' inputs and
// writes into the others' results.
//
// The first share that a member reads lands in its own result, where it is needed anyway: another buffer would only
// occupy more of the caches. The parts are long, because each costs 2 x (members - 1) system calls; the bytes that were
// read and folded are still in the cache when they are written. Only its owner reads and writes a share, so in place no
// member overwrites input that another has yet to read.
#include <bit>

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
  /// One for the sum where it cannot grow in the result, and one for each level of the tree, whose right half may be a
  /// single operand that must be read first.
  Scratch(const Group& group, const coll::Fold& fold) noexcept
      : at_(group.large(group.index())),
        piece_(whole_elements(
            std::min(group.tuning().large.single_piece_bytes,
                     group.large_bytes() / (1 + std::bit_width(static_cast<unsigned>(group.size() - 1)))),
            fold)) {}
  std::size_t piece() const noexcept { return piece_; }
  std::byte* sum() const noexcept { return at_; }
  std::byte* operand(std::size_t level) const noexcept { return at_ + (level + 1) * piece_; }

 private:
  std::byte* at_;
  std::size_t piece_;
};

/// Folds one part of all members' vectors, along the canonical tree, into this member's result.
class PartFold {
 public:
  PartFold(Task& task, const Scratch& scratch, std::size_t at, std::size_t bytes) noexcept
      : task_(task), scratch_(scratch), at_(at), bytes_(bytes) {}

  Copied run() {
    const coll::Operation& operation = *task_.operation;
    std::byte* const result = out_bytes(operation) + at_;
    // In place, the result is this member's input until its own operand is folded.
    std::byte* const between = operation.in_place() ? scratch_.sum() : result;
    const std::byte* const sum = halves(0, task_.group->size(), between, result, 0);
    if (sum != nullptr && sum != result) std::memcpy(result, sum, bytes_);  // Only a lone member gets here.
    return copied_;
  }

 private:
  /// Each returns the place of the sum of [first, first + count), or null if an operand could not be read. An operand
  /// that is not this member's own is read into `to`.
  const std::byte* sum(int first, int count, std::byte* to, std::size_t level) {
    if (count > 1) return halves(first, count, to, to, level);
    if (first == task_.group->index()) return in_bytes(*task_.operation) + at_;
    copied_ = read_from(task_, first, told_by(*task_.group, first, task_.round).in + at_, to, bytes_);
    return copied_ == Copied::all ? to : nullptr;
  }
  const std::byte* halves(int first, int count, std::byte* between, std::byte* to, std::size_t level) {
    if (count == 1) return sum(first, 1, between, level);
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
    const std::byte* const a = sum(first, left, between, level);
    if (a == nullptr) return nullptr;
    // The right half is read where the sum goes, if nothing lies there yet.
    const bool is_free = a != between;
    const std::byte* const b =
        sum(first + left, count - left, is_free ? between : scratch_.operand(level), is_free ? level : level + 1);
    if (b == nullptr) return nullptr;
    const coll::Fold& fold = *task_.operation->fold;
    fold.combine(to, a, b, bytes_ / fold.element_bytes);
    return to;
  }

  Task& task_;
  const Scratch& scratch_;
  std::size_t at_, bytes_;
  Copied copied_ = Copied::all;
};

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
      Copied copied = PartFold(task, scratch, at, bytes).run();
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
