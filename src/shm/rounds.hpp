#pragma once
// Building blocks of the flat algorithms' step functions: publish in a round, look for others' round numbers, fold
// along the canonical tree.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/copy.hpp"
#include "coll/canonical_fold.hpp"
#include "shm/task.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sumac::shm {

inline constexpr std::uint32_t kPhaseDone = ~0U;

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// Does a payload of `bytes` lie in both cache lines of a Line?
constexpr bool reaches_tail(std::size_t bytes) noexcept { return bytes > kFirstLineBytes && bytes <= kInlineBytes; }

/// Looks up to `polls` times for a round number that comes with a payload of `bytes`. An acquire load: a reader that
/// sees the number also sees the payload and the buffer written before it.
inline bool arrived(const Line& line, std::uint64_t round, std::size_t bytes, std::uint32_t polls) noexcept {
  const auto& last = reaches_tail(bytes) ? line.tail_round : line.round;
  for (;;) {
    // Both numbers are loaded before either is compared, so that both cache lines arrive at the same time.
    const std::uint64_t tail = last.load(std::memory_order_acquire), head = line.round.load(std::memory_order_acquire);
    if ((head == round) & (tail == round)) return true;
    if (--polls == 0) return false;
    cpu_relax();
  }
}

/// A release store: a reader that sees this round number also sees the payload of `bytes` written before it.
inline void publish(Line& line, std::uint64_t round, std::size_t bytes) noexcept {
  if (reaches_tail(bytes)) line.tail_round.store(round, std::memory_order_release);
  line.round.store(round, std::memory_order_release);
}

inline std::size_t ring_for(std::size_t bytes) noexcept { return bytes <= kInlineBytes ? kLineRing : kEagerRing; }

/// Returns where `member` stores the `bytes` of round `round`: in its line, or in its eager buffer if they do not fit
/// there.
inline std::byte* payload_of(const Group& group, int member, std::uint64_t round, std::size_t bytes) noexcept {
  return bytes <= kInlineBytes ? group.line(member, round).payload : group.eager(member, round);
}

/// Prefetches lines that this member is about to write from the members that read them last. It is only a hint: a wrong
/// guess costs little.
inline void claim([[maybe_unused]] std::byte* at, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__x86_64__)
  for (std::size_t done = 0; done < bytes; done += kCacheLine) asm volatile("prefetchw %0" ::"m"(at[done]));
#endif
}

/// Copies into memory that other members read.
inline void copy_in(Group& group, std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  group.stores.wrote(bytes);
  if (bytes >= Stores::kPieceLeast && group.stores.go_past()) return copy_past_caches(to, from, bytes);
  copy_bytes(to, from, bytes);
}

/// Are all members from `first` on whose number is still missing on other cores than this rank?
inline bool all_missing_elsewhere(Group& group, int first, std::uint64_t round, std::size_t bytes) noexcept {
  group.crowd().note_here();
  for (int m = first; m < group.size(); ++m)
    if (m != group.index() && group.crowd().is_here(m) && !arrived(group.line(m, round), round, bytes, 1)) return false;
  return true;
}

/// Waits for the number of every member, with `bytes` each, starting at op.peer; remembers where it stopped. A member
/// never reads its own line: reading a line that it has just written delays that line on its way to the others (on two
/// ranks of an EPYC a barrier takes 231 ns without that read, and 277 ns with it).
inline bool all_arrived(Task& task, std::size_t bytes) noexcept {
  Group& group = *task.group;
  for (; task.peer < group.size(); ++task.peer) {
    if (task.peer == group.index()) continue;
    if (!arrived(group.line(task.peer, task.round), task.round, bytes, task.polls)) {
      if (group.polls() == waits::kCrowded.looks) [[unlikely]]
        task.is_elsewhere = all_missing_elsewhere(group, task.peer, task.round, bytes);
      return false;
    }
  }
  group.see_all(task.round);
  return true;
}

/// Called while the others' numbers are awaited: claims the lines that this member will write in the next round (if that
/// round has as many bytes). No member reads them any more, because every member has completed the round before the last.
inline void claim_next(const Group& group, std::uint64_t round, std::size_t bytes) noexcept {
  if (bytes <= kInlineBytes || group.stores.go_past() || group.polls() == waits::kCrowded.looks) return;
  claim(group.eager(group.index(), round + 1), bytes);
}

/// Resets the algorithm's own fields to the values that it expects at its first step.
inline void start_over(Task& task) noexcept {
  task.phase = 0;
  task.peer = 0;
  task.round = 0;
  task.offset = 0;
  std::fill(std::begin(task.own), std::end(task.own), 0);
}

/// Ends an operation whose last round only confirms that each member is finished: the operation is done once all have
/// confirmed.
inline Step finish_together(Task& task) noexcept {
  if (!all_arrived(task, 0)) return Step::waiting;
  task.group->complete(task.round);
  task.phase = kPhaseDone;
  return Step::done;
}

inline void begin_round(Task& task) noexcept {
  task.round = task.group->next_round();
  task.peer = 0;
}

/// Ends a round that has done the next `bytes` of the operation's `all`. Returns whether the operation is done; else its
/// next step begins a round.
inline bool end_round(Task& task, std::size_t bytes, std::size_t all) noexcept {
  task.group->complete(task.round);
  task.offset += bytes;
  const bool is_done = task.offset >= all;
  task.phase = is_done ? kPhaseDone : 0;
  return is_done;
}

inline const std::byte* in_bytes(const coll::Operation& operation) noexcept {
  return static_cast<const std::byte*>(operation.in_place() ? operation.out : operation.in);
}
inline std::byte* out_bytes(const coll::Operation& operation) noexcept {
  return static_cast<std::byte*>(operation.out);
}

/// Rounds `limit` down to whole elements.
inline std::size_t whole_elements(std::size_t limit, const coll::Fold& fold) noexcept {
  return limit / fold.element_bytes * fold.element_bytes;
}

/// Returns a member's own vector as an operand: from its input, since reading back the published copy is slow (see
/// all_arrived()). Only where the input lies in `out` and the first fold, of members 0 and 1, has overwritten it is the
/// published copy used.
inline const std::byte* own_operand(const coll::Operation& operation, int me, std::size_t offset,
                                    const std::byte* published) noexcept {
  return operation.in_place() && me > 1 ? published : in_bytes(operation) + offset;
}

/// The bytes of a step in which a fold and its `buffers` spare ones stay within `limit`: whole elements, at least one.
inline std::size_t fold_step(std::size_t limit, std::size_t buffers, const coll::Fold& fold) noexcept {
  return std::max(whole_elements(limit / buffers, fold), fold.element_bytes);
}

/// fold_all() of more than three members, whose spare buffers take much of the stack.
template <class Source>
[[gnu::noinline]] void fold_many(const coll::Fold& fold, int members, std::byte* out, std::size_t bytes,
                                 const Source& source) {
  alignas(kCacheLine) std::byte spare[coll::kSpareBytes];
  const std::size_t step = fold_step(coll::kSpareBytes, coll::spare_buffers(members), fold);
  for (std::size_t at = 0; at < bytes; at += step)
    coll::fold_canonical(fold, members, out + at, out + at, spare, std::min(step, bytes - at),
                         [&](int m) { return source(m) + at; });
}

/// Computes out = source(0) op source(1) op ... along the canonical tree, with the same bits at every member. `out` may
/// be source(0) or source(1).
template <class Source>
void fold_all(const coll::Fold& fold, int members, std::byte* out, std::size_t bytes, const Source& source) {
  if (bytes == 0) return;
  if (members > 3) return fold_many(fold, members, out, bytes, source);
  coll::fold_canonical(fold, members, out, out, nullptr, bytes, source);
}

}  // namespace sumac::shm
