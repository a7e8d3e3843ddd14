// Allreduce by single copy: every member folds its share of the vector, which it reads from the others' inputs and
// writes into the others' results.
//
// The first share that a member reads lands in its own result, where it is needed anyway: another buffer would only
// occupy more of the caches. The parts are long, because each costs 2 x (members - 1) system calls; the bytes that were
// read and folded are still in the cache when they are written. Only its owner reads and writes a share, so in place no
// member overwrites input that another has yet to read. But inputs that are overwritten cannot be folded again by another
// way: so in place every member first reads a byte of each other's, and all agree in one more round that they may.
#include "shm/single/copy.hpp"
#include "shm/steps.hpp"
#include "shm/turns/turns.hpp"

namespace sumac::shm {

namespace {

enum Phase : std::uint32_t { kStart, kTell, kMeet, kProbed, kFold, kThrough };
enum Words : std::size_t { kTold };  ///< The round in which the addresses were published.

struct Addresses {
  const std::byte* in;
  std::byte* out;
};

Addresses told_by(const Task& task, int member) noexcept {
  Addresses addresses;
  std::memcpy(&addresses, payload_of(*task.group, member, task.own[kTold], sizeof addresses), sizeof addresses);
  return addresses;
}

bool any_in_place(const Task& task) noexcept {
  for (int m = 0; m < task.group->size(); ++m)
    if ((task.group->line(m, task.round).word & kInPlace) != 0) return true;
  return false;
}

/// Reads a byte of every other member's input.
Copied probe(Task& task) noexcept {
  Copied copied = Copied::all;
  std::byte first;
  for (int m = 0; m < task.group->size() && copied == Copied::all; ++m)
    if (m != task.group->index()) copied = read_from(task, m, told_by(task, m).in, &first, 1);
  return copied;
}

/// The buffers for operands that cannot lie in the result: this member's large area. Every member is in this operation,
/// so none still reads there from an earlier one.
class Scratch {
 public:
  /// One for the sum where it cannot grow in the result, and those of a fold whose operands are read first.
  Scratch(const Group& group, const coll::Fold& fold) noexcept
      : at_(group.large(group.index())),
        piece_(whole_elements(std::min(group.tuning().large.single_piece_bytes,
                                       group.large_bytes() / (1 + coll::fetch_buffers(group.size()))),
                              fold)) {}
  std::size_t piece() const noexcept { return piece_; }
  std::byte* sum() const noexcept { return at_; }
  std::byte* operands() const noexcept { return at_ + piece_; }

 private:
  std::byte* at_;
  std::size_t piece_;
};

/// Folds one part of all members' vectors, along the canonical tree, into this member's result.
Copied fold_piece(Task& task, const Scratch& scratch, std::size_t at, std::size_t bytes) noexcept {
  const Group& group = *task.group;
  const coll::Operation& operation = *task.operation;
  std::byte* const result = out_bytes(operation) + at;
  Copied copied = Copied::all;
  const auto read = [&](int m, std::byte* place) -> const std::byte* {
    if (m == group.index()) return in_bytes(operation) + at;
    copied = read_from(task, m, told_by(task, m).in + at, place, bytes);
    return copied == Copied::all ? place : nullptr;
  };
  // In place, the result is this member's input until its own operand is folded.
  std::byte* const between = operation.in_place() ? scratch.sum() : result;
  (void)coll::fold_fetched(*operation.fold, group.size(), result, between, scratch.operands(), bytes, read);
  return copied;
}

/// Writes the part of the result into every other member's, in an order in which not all write to the same one at the
/// same time.
Copied give_piece(Task& task, std::size_t at, std::size_t bytes) noexcept {
  const Group& group = *task.group;
  for (std::uint64_t i = 0; i + 1 < static_cast<std::uint64_t>(group.size()); ++i) {
    const int m = group.other(i);
    const Copied copied = write_into(task, m, told_by(task, m).out + at, out_bytes(*task.operation) + at, bytes);
    if (copied != Copied::all) return copied;
  }
  return Copied::all;
}

/// In place, the members have asked before the first input was overwritten.
bool was_probed(const Task& task) noexcept { return task.round != task.own[kTold]; }

Step end_group(Group& group) noexcept {
  group.break_because(Errc::lost,
                      "another rank's memory was refused (process_vm_readv or _writev) in the middle of a reduction in "
                      "place: set SUMAC_SHM_SINGLE_COPY=0");
  return Step::failed;
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
    task.own[kTold] = task.round;
    task.phase = kFold;
    if (any_in_place(task)) {
      const Meets meets = what_meets(group, probe(task));
      if (meets == Meets::death) return Step::failed;
      if (meets == Meets::later) {
        task.phase = kMeet;
        return Step::waiting;
      }
      say_through(task, meets == Meets::refusal);
      task.phase = kProbed;
    }
  }
  if (task.phase == kProbed) {
    if (!all_arrived(task, 0)) return Step::waiting;
    if (!all_open(task)) return go_by(task, "blocks");
    task.phase = kFold;
  }
  if (task.phase == kFold) {
    const auto members = static_cast<std::size_t>(group.size()), me = static_cast<std::size_t>(group.index());
    const std::size_t each = coll::even_step(operation.bytes, members, unit_for(operation.fold->element_bytes));
    const std::size_t begin = std::min(operation.bytes, me * each), end = std::min(operation.bytes, begin + each);
    const Scratch scratch(group, *operation.fold);
    Meets meets = Meets::end;
    for (std::size_t at = begin + task.offset; at < end; at = begin + task.offset) {
      const std::size_t bytes = std::min(scratch.piece(), end - at);
      Copied copied = fold_piece(task, scratch, at, bytes);
      if (copied == Copied::all) copied = give_piece(task, at, bytes);
      meets = what_meets(group, copied);
      if (meets == Meets::death) return Step::failed;
      if (meets == Meets::later) return Step::waiting;
      if (meets == Meets::refusal) break;
      task.offset += bytes;
      task.has_moved = true;
    }
    if (meets == Meets::refusal && was_probed(task)) return end_group(group);
    say_through(task, meets == Meets::refusal);
    task.phase = kThrough;
  }
  return finish_or_go_by(task, "blocks");
}

}  // namespace sumac::shm
