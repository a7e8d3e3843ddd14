#include "coll/patterns/ring.hpp"

namespace sumac::coll {
namespace {

/// Sends own block around, receives all others. `begun` are the steps after which the segments of the own block may go.
void put_round(Pattern& pattern, Member me, std::span<const Extent> blocks, Part own, std::vector<std::uint32_t> begun,
               const Cutting& cutting) {
  for (std::uint32_t s = 0; s + 1 < me.size; ++s) {
    const Extent& leaves = blocks[before(me, s)];
    const Extent& comes = blocks[before(me, s + 1)];
    const Part from = s == 0 ? own : Part{Area::out, leaves.at};
    const Cut there = cutting.of(leaves.bytes), back = cutting.of(comes.bytes);
    std::vector<std::uint32_t> arrived;
    for (std::uint64_t k = 0; k < std::max(there.count, back.count); ++k) {
      if (k < there.count)
        pattern.send(next_to(me, 1), from + there.from(k), there.size(k), k < begun.size() ? begun[k] : kNoStep);
      if (k < back.count)
        arrived.push_back(pattern.receive(before(me, 1), Part{Area::out, comes.at} + back.from(k), back.size(k)));
    }
    begun = std::move(arrived);
  }
}

}  // namespace

void put_ring_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  if (me.size == 1) {
    if (!in_place) pattern.copy(out_at(0), in_at(0), bytes);
    return;
  }
  pattern.is_eager = false;
  pattern.meets_all = bytes > 0;
  std::vector<Extent> blocks(me.size);
  for (std::uint32_t i = 0; i < me.size; ++i) {
    const auto begin = share_begin(bytes, cutting.unit, me.size, i);
    blocks[i] = {static_cast<std::int64_t>(begin), share_begin(bytes, cutting.unit, me.size, i + 1) - begin};
  }
  // Block r is complete at rank r. The sum of a segment comes back only after this member's own part of it was received,
  // so it never overwrites bytes that are still being sent, even in place.
  std::vector<std::uint32_t> added;
  for (std::uint32_t s = 0; s + 1 < me.size; ++s) {
    const Extent& leaves = blocks[before(me, s + 1)];
    const Extent& comes = blocks[before(me, s + 2)];
    const auto leaves_at = static_cast<std::uint64_t>(leaves.at), comes_at = static_cast<std::uint64_t>(comes.at);
    const Cut there = cutting.of(leaves.bytes), back = cutting.of(comes.bytes);
    std::vector<std::uint32_t> now;
    for (std::uint64_t k = 0; k < std::max(there.count, back.count); ++k) {
      if (k < there.count) {
        const auto at = leaves_at + there.from(k);
        pattern.send(next_to(me, 1), s == 0 ? in_at(at) : out_at(at), there.size(k), s == 0 ? kNoStep : added[k]);
      }
      if (k < back.count) {
        const auto at = comes_at + back.from(k);
        now.push_back(pattern.put({.what = Step::Do::add,
                                   .arrived_first = true,
                                   .peer = before(me, 1),
                                   .bytes = back.size(k),
                                   .to = out_at(at),
                                   .from = in_at(at)}));
      }
    }
    added = std::move(now);
  }
  put_round(pattern, me, blocks, {Area::out, blocks[me.rank].at}, std::move(added), cutting);
}

void put_ring_reduce_scatter(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  if (me.size == 1) {
    if (!in_place) pattern.copy(out_at(0), in_at(0), bytes);
    return;
  }
  pattern.is_eager = false;
  pattern.meets_all = bytes > 0;
  const Part slots[2] = {pattern.work(bytes), pattern.work(bytes)};
  const Cut segments = cutting.of(bytes);
  std::vector<std::uint32_t> added(segments.count, kNoStep), sent(segments.count, kNoStep), now(segments.count);
  std::uint32_t first_sent = kNoStep;  // Over when nothing of `in` is being sent any more.
  for (std::uint32_t s = 0; s + 1 < me.size; ++s) {
    const bool is_last = s + 2 == me.size;
    for (std::uint64_t k = 0; k < segments.count; ++k) {
      const auto at = segments.from(k);
      const Part from = s == 0 ? in_at(before(me, 1) * bytes + at) : slots[(s - 1) % 2] + at;
      const auto leaves = pattern.send(next_to(me, 1), from, segments.size(k), added[k]);
      if (s == 0 && in_place) first_sent = pattern.join(first_sent, leaves);
      now[k] = leaves;
    }
    for (std::uint64_t k = 0; k < segments.count; ++k) {
      const auto at = segments.from(k);
      // A slot is used again when its content of two rounds ago has left: `sent` of the round before sent that.
      const bool is_direct = is_last && !in_place;
      added[k] = pattern.put({.what = Step::Do::add,
                              .arrived_first = true,
                              .peer = before(me, 1),
                              .bytes = segments.size(k),
                              .to = is_direct ? out_at(at) : slots[s % 2] + at,
                              .from = in_at(before(me, s + 2) * bytes + at),
                              .after = {is_direct ? kNoStep : sent[k], kNoStep}});
      // In place the result would lie where `in` may still be sent. The receiver must not wait for that: two members
      // whose memory is free only when the other has received would wait for each other.
      if (is_last && in_place)
        pattern.put({.what = Step::Do::copy,
                     .bytes = segments.size(k),
                     .to = out_at(at),
                     .from = slots[s % 2] + at,
                     .after = {added[k], first_sent}});
    }
    sent = now;
  }
}

void put_ring_allgather(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                        const Cutting& cutting) {
  const Part own{Area::out, blocks[me.rank].at};
  if (!in_place) pattern.copy(own, in_at(0), blocks[me.rank].bytes);
  if (me.size == 1) return;
  pattern.is_eager = false;
  pattern.meets_all = std::ranges::none_of(blocks, [](const Extent& block) { return block.bytes == 0; });
  put_round(pattern, me, blocks, in_place ? own : in_at(0), {}, cutting);
}

void put_chain_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting) {
  if (me.size == 1) return;
  pattern.is_eager = false;
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    const Part part = out_at(segments.from(k));
    const auto arrived = me.rank == root ? kNoStep : pattern.receive(before(me, 1), part, segments.size(k));
    if (next_to(me, 1) != root) pattern.send(next_to(me, 1), part, segments.size(k), arrived);
  }
}

}  // namespace sumac::coll
