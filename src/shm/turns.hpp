#pragma once
// Inside this folder only: how large messages go through the members' large areas.
//
// Turns. A large operation is cut into turns, numbered from 1 through all operations of a group. Every member's large area
// is a ring of slices, and turn t uses slice t % slices of each. In a turn a member
//   - fills its slice from its own buffer and stores the turn's number into its counter `written`;
//   - may make something of all slices and put it into its own one (`folded`);
//   - takes what it wants from the others' slices, then stores `finished`: it will not look at any slice of the turn again.
// A slice is filled again, whatever the next operation is, only when everybody has finished the turn that used it before.
// A counter is never set back, and a member that has nothing to say in a turn leaves its `written` behind: nobody asks.
//
// A member goes ahead with whichever of the three it can (drive()): all slices are full before anybody has to wait for
// anybody. So where ranks share a core each needs few turns of the processor, and where they do not, the steps of one
// turn overlap with those of its neighbours.
//
// Why a ring that is much larger than a chunk: a line just read by another core is dear to write again. On an EPYC with
// 1 MiB of L2 per core, copying 64 KiB between two cores takes 1.0 us through a ring of 1 MiB, 2.3 through one of 64 KiB,
// and 1.7 through 4 MiB.
#include <algorithm>
#include <cstring>

#include "shm/rounds.hpp"

namespace sumac::shm {

/// Slices of a large area: few members do well with many small ones; many members need room in each for all of them.
constexpr std::size_t slices_of(int group_size) noexcept {
  return group_size <= 4 ? kSlicesMax : group_size <= 16 ? 8 : 4;
}
inline std::size_t slice_bytes(const Group& group) noexcept {
  return group.large_bytes() / slices_of(group.size()) / kCacheLine * kCacheLine;
}

/// Every algorithm here needs a cache line of a slice for each member, and one more. Elements are at most a cache line.
inline std::size_t least_slice_bytes(const Group& group) noexcept {
  return (static_cast<std::size_t>(group.size()) + 1) * kCacheLine;
}
/// What one turn takes of a slice, if `wanted` is asked for.
inline std::size_t turn_limit(const Group& group, std::size_t wanted) noexcept {
  return std::min(slice_bytes(group), std::max(wanted, least_slice_bytes(group)));
}

/// `total` cut into chunks of at most `limit` bytes (whole `unit`s), as equal as they can be: the last one is not a crumb
/// that costs a turn of its own.
struct Chunks {
  std::size_t bytes;  ///< Of each but the last.
  std::size_t count;
};
constexpr Chunks cut(std::size_t total, std::size_t limit, std::size_t unit) noexcept {
  if (total == 0) return {unit, 0};
  limit = std::max(limit / unit * unit, unit);
  const std::size_t count = (total + limit - 1) / limit;
  const std::size_t bytes = std::min(limit, round_up((total + count - 1) / count, unit));
  return {bytes, (total + bytes - 1) / bytes};
}

/// The bytes of a chunk at `offset`, of a block that ends at `total`; a block may have ended before.
constexpr std::size_t part_at(std::size_t offset, std::size_t total, std::size_t chunk) noexcept {
  return offset >= total ? 0 : std::min(chunk, total - offset);
}

/// An operation's place among the turns: a view of Operation::own. Turns of an operation are counted from 0.
class Turns {
 public:
  enum Counter : std::size_t { kWritten, kFolded, kFinished };

  explicit Turns(Task& task) noexcept
      : op_(task), group_(*task.group), slices_(slices_of(group_.size())), slice_bytes_(shm::slice_bytes(group_)) {}

  /// At the operation's first step.
  void begin(std::size_t count) noexcept {
    op_.own[kBase] = group_.turning.taken + 1;
    op_.own[kCount] = count;
    op_.phase = 1;
  }
  /// When nothing is left to do: the next operation counts on from here.
  Step end() noexcept {
    group_.turning.taken += op_.own[kCount];
    // Also by who had nothing to read, or the others would wait for it.
    store(kFinished, group_.turning.taken);
    op_.phase = kPhaseDone;
    return Step::done;
  }

  std::uint64_t count() const noexcept { return op_.own[kCount]; }
  void grow(std::uint64_t count) noexcept { op_.own[kCount] = std::max(op_.own[kCount], count); }
  /// Of each member's ring: so many turns have one of their own.
  std::size_t slices() const noexcept { return slices_; }
  /// How many turns have been filled, folded and taken by this member.
  std::uint64_t filled() const noexcept { return op_.own[kFilled]; }
  std::uint64_t& folded() noexcept { return op_.own[kFoldedHere]; }
  std::uint64_t& taken() noexcept { return op_.own[kTaken]; }
  std::uint64_t taken() const noexcept { return op_.own[kTaken]; }
  /// Of the turn being folded, and of the one being taken: how many members have been seen to.
  std::uint64_t& fold_peers() noexcept { return op_.own[kFoldPeers]; }
  std::uint64_t& take_peers() noexcept { return op_.own[kTakePeers]; }

  std::uint64_t number(std::uint64_t turn) const noexcept { return op_.own[kBase] + turn; }
  /// Which of the slices of a ring is the turn's.
  std::size_t slot(std::uint64_t turn) const noexcept { return number(turn) % slices_; }
  std::byte* slice(int member, std::uint64_t turn) const noexcept {
    return group_.large(member) + slot(turn) * slice_bytes_;
  }

  /// `write(turn, slice)` copies this member's part of its next turn into its slice. False: the slice still holds what somebody
  /// reads, or all turns are filled.
  template <class Write>
  bool fill(const Write& write) const {
    const std::uint64_t turn = op_.own[kFilled];
    if (turn == count() || !free(turn)) return false;
    write(turn, slice(group_.index(), turn));
    say(kWritten, turn);
    ++op_.own[kFilled];
    return true;
  }

  /// Is everybody through with what this turn's slices held before?
  bool free(std::uint64_t turn) const noexcept {
    if (group_.turning.everyone_finished + slices_ >= number(turn)) return true;
    std::uint64_t least = number(turn);  // alone: nobody else reads
    for (int m = 0; m < group_.size(); ++m) {
      if (m == group_.index()) continue;
      // Acquire: its reads of what is about to be overwritten come before its number.
      least = std::min(least, group_.counter(m, kFinished).load(std::memory_order_acquire));
    }
    group_.turning.everyone_finished = least;
    return least + slices_ >= number(turn);
  }
  /// Acquire: who sees the number sees the slice.
  bool seen(Counter which, int member, std::uint64_t turn) const noexcept {
    return group_.counter(member, which).load(std::memory_order_acquire) >= number(turn);
  }
  /// All others; its own counter a member never reads (rounds.hpp, all_arrived).
  bool seen_all(Counter which, std::uint64_t turn, std::uint64_t& next) const noexcept {
    for (; next + 1 < static_cast<std::uint64_t>(group_.size()); ++next)
      if (!seen(which, other(next), turn)) return false;
    next = 0;
    return true;
  }
  /// Release: what has been written before is there for who sees the number, what has been read before is not read again.
  void say(Counter which, std::uint64_t turn) const noexcept { store(which, number(turn)); }

  /// This member looks at no slice any more of the turn that it takes, and goes on to the next.
  void has_taken() noexcept {
    say(kFinished, taken());
    ++taken();
  }

  /// The i-th of the others, from the one behind this member on: not all take from the same one at the same time.
  int other(std::uint64_t i) const noexcept {
    return static_cast<int>((static_cast<std::uint64_t>(group_.index()) + 1 + i) %
                            static_cast<std::uint64_t>(group_.size()));
  }

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

/// Longest piece that is folded in one go: there is room for it on the stack.
inline constexpr std::size_t kFoldBytesMax = 32 * 1024;

/// source(0) op source(1) op ... in rank order into `kept` (the caller's buffer), `told` (a slice) or both. In pieces, which
/// stay in the first cache from the first operand to the last. A sum never grows in a slice: its lines are in the caches
/// of those who read them last, and only a copy of many whole lines gets them back without reading them first.
template <class Source>
void fold_pieces(const Group& group, const coll::Operation& operation, std::size_t total, std::byte* kept,
                 std::byte* told, const Source& source) {
  const coll::Fold& fold = *operation.fold;
  alignas(kCacheLine) std::byte scratch[kFoldBytesMax];
  const std::size_t wanted = std::min(group.tuning().large.fold_bytes, kFoldBytesMax);
  const std::size_t step = std::max(whole_elements(wanted, fold), fold.element_bytes);
  for (std::size_t at = 0; at < total; at += step) {
    const std::size_t bytes = std::min(step, total - at);
    std::byte* const result = kept != nullptr ? kept + at : scratch;
    // In place, the output is a contribution until the last moment.
    std::byte* const between = operation.in_place() ? scratch : result;
    const std::byte* sum = source(0) + at;
    if (group.size() == 1 && result != sum) std::memcpy(result, sum, bytes);
    for (int m = 1; m < group.size(); ++m) {
      std::byte* const to = m == group.size() - 1 ? result : between;
      fold.combine(to, sum, source(m) + at, bytes / fold.element_bytes);
      sum = to;
    }
    if (told != nullptr) std::memcpy(told + at, result, bytes);
  }
}

/// Calls `move`, which does each thing that can be done now once and says whether there was any, until `finished`.
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
