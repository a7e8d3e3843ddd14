#pragma once
// What the step functions of the flat algorithms are made of: publish in a round, see others' numbers, fold in rank order.
#include <algorithm>
#include <cstring>
#include <iterator>

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

/// Looks up to `polls` times for a number with a payload of `bytes`. Acquire: whoever sees it sees the payload and the buffer
/// written before it.
inline bool arrived(const Line& line, std::uint64_t round, std::size_t bytes, std::uint32_t polls) noexcept {
  const auto& last = reaches_tail(bytes) ? line.tail_round : line.round;
  for (;;) {
    // Both are loaded before either is judged.
    const std::uint64_t tail = last.load(std::memory_order_acquire), head = line.round.load(std::memory_order_acquire);
    if ((head == round) & (tail == round)) return true;
    if (--polls == 0) return false;
    cpu_relax();
  }
}

/// Everything before it, a payload of `bytes` too, is visible to who sees the number: release.
inline void publish(Line& line, std::uint64_t round, std::size_t bytes) noexcept {
  if (reaches_tail(bytes)) line.tail_round.store(round, std::memory_order_release);
  line.round.store(round, std::memory_order_release);
}

inline std::size_t ring_for(std::size_t bytes) noexcept { return bytes <= kInlineBytes ? kLineRing : kEagerRing; }

/// Where `member` puts `bytes` of round `round`: its line, or else its eager buffer.
inline std::byte* payload_of(const Group& group, int member, std::uint64_t round, std::size_t bytes) noexcept {
  return bytes <= kInlineBytes ? group.line(member, round).payload : group.eager(member, round);
}

/// Is there nobody on this core, of the members from `first` on, whose number is still to come?
inline bool all_missing_elsewhere(Group& group, int first, std::uint64_t round, std::size_t bytes) noexcept {
  group.crowd().note_here();
  for (int m = first; m < group.size(); ++m)
    if (m != group.index() && group.crowd().is_here(m) && !arrived(group.line(m, round), round, bytes, 1)) return false;
  return true;
}

/// Waits for everybody's number, with `bytes` each, from op.peer on; remembers where it stopped. Its own line a member never
/// looks at: reading what it has just written holds up its way to the others (two ranks of an EPYC: a barrier takes 277 ns
/// instead of 231).
inline bool all_arrived(Task& task, std::size_t bytes) noexcept {
  Group& group = *task.group;
  for (; task.peer < group.size(); ++task.peer) {
    if (task.peer == group.index()) continue;
    if (!arrived(group.line(task.peer, task.round), task.round, bytes, task.polls)) {
      if (group.polls() == kPollsCrowded) [[unlikely]]
        task.is_elsewhere = all_missing_elsewhere(group, task.peer, task.round, bytes);
      return false;
    }
  }
  group.see_all(task.round);
  return true;
}

/// While the others' numbers are awaited: has the lines that this member writes in the next round, if that has as many bytes, come
/// back from who has read them last. Nobody looks at them any more: everybody here has completed the round before the last
/// one. A hint: where it is wrong nothing happens.
inline void claim_next(const Group& group, std::uint64_t round, std::size_t bytes) noexcept {
#if defined(__x86_64__)
  if (bytes <= kInlineBytes || group.polls() == kPollsCrowded) return;
  std::byte* const next = group.eager(group.index(), round + 1);
  for (std::size_t at = 0; at < bytes; at += kCacheLine) asm volatile("prefetchw %0" ::"m"(next[at]));
#endif
}

/// What is the algorithm's own, as it finds it at its first step.
inline void start_over(Task& task) noexcept {
  task.phase = 0;
  task.peer = 0;
  task.round = 0;
  task.offset = 0;
  std::fill(std::begin(task.own), std::end(task.own), 0);
}

/// The end of an operation whose last round only says that its member is through: once everybody has said so.
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

inline const std::byte* in_bytes(const coll::Operation& operation) noexcept {
  return static_cast<const std::byte*>(operation.in_place() ? operation.out : operation.in);
}
inline std::byte* out_bytes(const coll::Operation& operation) noexcept {
  return static_cast<std::byte*>(operation.out);
}

/// `limit` cut down to whole elements.
inline std::size_t whole_elements(std::size_t limit, const coll::Fold& fold) noexcept {
  return limit / fold.element_bytes * fold.element_bytes;
}

/// A member's own vector as an operand. Not what it has published, for the reason above, unless `out` is where it lies and
/// the first fold, of members 0 and 1, overwrites it.
inline const std::byte* own_operand(const coll::Operation& operation, int me, std::size_t offset,
                                    const std::byte* published) noexcept {
  return operation.in_place() && me > 1 ? published : in_bytes(operation) + offset;
}

/// out = source(0) op source(1) op ... in rank order, the same bits at every member. `out` may be source(0) or source(1).
template <class Source>
void fold_all(const coll::Fold& fold, int members, std::byte* out, std::size_t bytes, const Source& source) {
  if (bytes == 0) return;
  if (members == 1) {
    if (out != source(0)) std::memcpy(out, source(0), bytes);
    return;
  }
  const std::size_t count = bytes / fold.element_bytes;
  fold.combine(out, source(0), source(1), count);
  for (int m = 2; m < members; ++m) fold.combine(out, out, source(m), count);
}

}  // namespace sumac::shm
