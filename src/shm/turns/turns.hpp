#pragma once
// This header, for this folder only, describes how large messages go through the members' large areas.
//
// A large operation is cut into turns, numbered from 1 through all operations of a group. Every member's large area is
// a ring of slices, and turn t uses slice t % slices of each ring. In a turn a member
//   - fills its slice from its own buffer and stores the turn's number into its counter `written`;
//   - may combine all slices and put the result into its own slice (`folded`);
//   - copies its part out of the others' slices, then stores `finished`: it does not read any slice of the turn again.
// A member fills a slice again, even in another operation, only after every member has finished the turn that used the
// slice before. A counter is never set back. A member that has no data for a turn skips its `written`, because nobody
// waits for that.
//
// A member does whichever of the three steps it can (drive()), so all slices are full before any member waits for
// another. Where ranks share a core, each rank therefore has to be scheduled only a few times; where they do not, the
// steps of one turn overlap with those of the turns before and after it.
//
// The ring is much larger than the data of one turn because a line that another core has just read is expensive to write again. On
// an EPYC with 1 MiB of L2 per core, copying 64 KiB between two cores takes 1.0 us through a ring of 1 MiB, 2.3 us
// through one of 64 KiB, and 1.7 us through one of 4 MiB.
#include <algorithm>
#include <cstring>

#include "coll/cut.hpp"
#include "shm/rounds.hpp"

namespace sumac::shm {

/// Returns into how many slices a large area is cut. A small group is fastest with many small slices; in a large group
/// each slice must have room for a cell of every member.
constexpr std::size_t slices_of(int group_size) noexcept {
  return group_size <= 4 ? kSlicesMax : group_size <= 16 ? 8 : 4;
}
inline std::size_t slice_bytes(const Group& group) noexcept {
  return group.large_bytes() / slices_of(group.size()) / kCacheLine * kCacheLine;
}

/// Every algorithm here needs in a slice one cache line for each member, and one more. Elements that
/// are longer than a line have their own limit, element_bytes_max().
inline std::size_t least_slice_bytes(const Group& group) noexcept {
  return (static_cast<std::size_t>(group.size()) + 1) * kCacheLine;
}
/// Returns how many bytes of a slice one turn uses if the tuning asks for `wanted`.
inline std::size_t turn_limit(const Group& group, std::size_t wanted) noexcept {
  return std::min(slice_bytes(group), std::max(wanted, least_slice_bytes(group)));
}

/// Cuts `total` bytes into equal turns of at most `limit` bytes, each a whole number of `unit`s.
constexpr coll::Cut cut_into_turns(std::size_t total, std::size_t limit, std::size_t unit) noexcept {
  return coll::cut(total, {.most = limit, .unit = unit, .is_even = true});
}

/// The same for data that go one way only: a member that reads can begin once the first turn is written, and until then has
/// nothing to do. So what would fit into fewer turns is cut into `turns`, but into none smaller than the least.
inline constexpr std::size_t kOneWayLeast = 16 * 1024;
constexpr coll::Cut cut_one_way(std::size_t total, std::size_t limit, std::size_t turns, std::size_t unit) noexcept {
  return cut_into_turns(total, std::min(limit, std::max(total / turns, kOneWayLeast)), unit);
}

/// An operation's position in the sequence of turns: a view of Operation::own. The turns of one operation count from 0.
class Turns {
 public:
  enum Counter : std::size_t { kWritten, kFolded, kFinished };

  explicit Turns(Task& task) noexcept
      : op_(task), group_(*task.group), slices_(slices_of(group_.size())), slice_bytes_(shm::slice_bytes(group_)) {}

  /// Called at the operation's first step.
  void begin(std::size_t count) noexcept {
    op_.own[kBase] = group_.turning.taken + 1;
    op_.own[kCount] = count;
    op_.phase = 1;
  }
  /// Called when nothing is left to do: the next operation counts on from here.
  Step end() noexcept {
    group_.turning.taken += op_.own[kCount];
    // A member that had nothing to read stores it too, because the others would wait for it.
    store(kFinished, group_.turning.taken);
    op_.phase = kPhaseDone;
    return Step::done;
  }

  std::uint64_t count() const noexcept { return op_.own[kCount]; }
  void grow(std::uint64_t count) noexcept { op_.own[kCount] = std::max(op_.own[kCount], count); }
  /// The number of slices in each member's ring, so as many turns can be under way at once.
  std::size_t slices() const noexcept { return slices_; }
  /// The number of turns that this member has filled, folded and taken.
  std::uint64_t filled() const noexcept { return op_.own[kFilled]; }
  std::uint64_t& folded() noexcept { return op_.own[kFoldedHere]; }
  std::uint64_t& taken() noexcept { return op_.own[kTaken]; }
  std::uint64_t taken() const noexcept { return op_.own[kTaken]; }
  /// The number of members already handled in the turn being folded, and in the turn being taken.
  std::uint64_t& fold_peers() noexcept { return op_.own[kFoldPeers]; }
  std::uint64_t& take_peers() noexcept { return op_.own[kTakePeers]; }

  std::uint64_t number(std::uint64_t turn) const noexcept { return op_.own[kBase] + turn; }
  /// The index of the turn's slice in every ring.
  std::size_t slot(std::uint64_t turn) const noexcept { return number(turn) % slices_; }
  std::byte* slice(int member, std::uint64_t turn) const noexcept {
    return group_.large(member) + slot(turn) * slice_bytes_;
  }

  /// Calls `write(turn, slice)`, which copies this member's part of its next turn into its slice. Returns false if a
  /// member still reads the slice, or if all turns are filled.
  template <class Write>
  bool fill(const Write& write) const {
    const std::uint64_t turn = op_.own[kFilled];
    if (turn == count() || !free(turn)) return false;
    group_.stores.fill([&] { write(turn, slice(group_.index(), turn)); });
    say(kWritten, turn);
    ++op_.own[kFilled];
    return true;
  }

  /// Has every member finished the turn that used these slices before?
  bool free(std::uint64_t turn) const noexcept {
    if (group_.turning.everyone_finished + slices_ >= number(turn)) return true;
    std::uint64_t least = number(turn);  // A lone member starts from this number, since nobody else reads.
    for (int m = 0; m < group_.size(); ++m) {
      if (m == group_.index()) continue;
      // An acquire load: that member's reads of the bytes to overwrite come before the number it stored.
      least = std::min(least, group_.counter(m, kFinished).load(std::memory_order_acquire));
    }
    group_.turning.everyone_finished = least;
    return least + slices_ >= number(turn);
  }
  /// An acquire load: after this member sees the number, it also sees the slice.
  bool seen(Counter which, int member, std::uint64_t turn) const noexcept {
    return group_.counter(member, which).load(std::memory_order_acquire) >= number(turn);
  }
  /// Like seen(), for all other members. A member never reads its own counter (all_arrived() in rounds.hpp says why).
  bool seen_all(Counter which, std::uint64_t turn, std::uint64_t& next) const noexcept {
    for (; next + 1 < static_cast<std::uint64_t>(group_.size()); ++next)
      if (!seen(which, other(next), turn)) return false;
    next = 0;
    return true;
  }
  /// A release store: a member that reads this number sees all bytes written before it, and this member's earlier reads
  /// are complete.
  void say(Counter which, std::uint64_t turn) const noexcept { store(which, number(turn)); }

  /// This member reads no slice of the current turn any more and goes on to the next turn.
  void has_taken() noexcept {
    say(kFinished, taken());
    ++taken();
  }

  /// Returns the i-th other member in the order in which this one visits them.
  int other(std::uint64_t i) const noexcept { return group_.other(i); }

 private:
  enum Own : std::size_t { kBase, kCount, kFilled, kFoldedHere, kTaken, kFoldPeers, kTakePeers };

  void store(Counter which, std::uint64_t value) const noexcept {
    group_.counter(group_.index(), which).store(value, std::memory_order_release);
  }

  Task& op_;
  Group& group_;
  std::size_t slices_;
  std::size_t slice_bytes_;
};

/// Stores source(0) op source(1) op ..., along the canonical tree, into `kept` (the caller's buffer), `told` (a slice) or
/// both. It works in steps that stay in the first-level cache from the first operand to the last. The sum does not grow
/// inside a slice: the lines of a slice are in the caches of the members that read them last, and only a copy of many
/// whole lines avoids reading them back first.
template <class Source>
void fold_pieces(Group& group, const coll::Operation& operation, std::size_t total, std::byte* kept, std::byte* told,
                 const Source& source) {
  const coll::Fold& fold = *operation.fold;
  alignas(kCacheLine) std::byte scratch[coll::kSpareBytes];
  const std::size_t wanted = std::min(group.tuning().large.fold_bytes, coll::kSpareBytes);
  const std::size_t step = fold_step(wanted, coll::spare_buffers(group.size()) + 1, fold);
  for (std::size_t at = 0; at < total; at += step) {
    const std::size_t bytes = std::min(step, total - at);
    std::byte* const result = kept != nullptr ? kept + at : scratch;
    // In place, the output is also an operand until the last step.
    std::byte* const between = operation.in_place() ? scratch : result;
    coll::fold_canonical(fold, group.size(), result, between, scratch + step, bytes,
                         [&](int m) { return source(m) + at; });
    if (told != nullptr) copy_in(group, told + at, result, bytes);
  }
}

/// Calls `move` until `finished`. `move` tries each step that is possible now once, and returns whether it could do
/// any.
template <class Move, class Finished>
Step drive(Task& task, Turns& turns, const Move& move, const Finished& finished) {
  for (std::uint32_t polls = task.polls; !finished();) {
    if (move()) {
      polls = task.polls;
      task.has_moved = true;
    } else if (--polls == 0) {
      return Step::waiting;
    } else {
      cpu_relax();
    }
  }
  return turns.end();
}

}  // namespace sumac::shm
