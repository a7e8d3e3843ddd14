#include "coll/patterns/pairwise.hpp"

#include <algorithm>

namespace sumac::coll {
namespace {

/// The large blocks that a member has under way at once: the next one leaves when an earlier one has arrived.
constexpr std::uint32_t kAtOnce = 4;

/// One value for the canonical sum, and the step after which it is there.
struct Operand {
  Part part;
  std::uint32_t ready = kNoStep;
};

/// Adds the operands of the ranks in `block`. Each partial sum replaces its left operand, except `in` and the last sum.
class CanonicalSum {
 public:
  CanonicalSum(Pattern& pattern, std::span<const Operand> operands, std::uint64_t bytes)
      : pattern_(pattern), operands_(operands), bytes_(bytes) {}

  /// `before`: the step before which `to` must not be written.
  std::uint32_t put(Part to, std::uint32_t before) {
    const auto size = static_cast<std::uint32_t>(operands_.size());
    if (size == 1) return operands_[0].part == to ? operands_[0].ready : pattern_.copy(to, operands_[0].part, bytes_);
    return add({0, size}, to, before).ready;
  }

 private:
  Operand of(RankBlock block) {
    if (block.count == 1) return operands_[block.first];
    return add(block, {}, kNoStep);
  }

  Operand add(RankBlock block, Part to, std::uint32_t before) {
    const std::uint32_t half = std::bit_ceil(block.count) / 2;
    const Operand left = of({block.first, half}), right = of({block.first + half, block.count - half});
    if (to.area == Area::none) to = left.part.area == Area::work ? left.part : right.part;
    const auto ready = pattern_.join(left.ready, right.ready);
    return {to, pattern_.put({.what = Step::Do::combine,
                              .bytes = bytes_,
                              .to = to,
                              .from = left.part,
                              .other = right.part,
                              .after = {ready, before}})};
  }

  Pattern& pattern_;
  std::span<const Operand> operands_;
  std::uint64_t bytes_;
};

/// Receives a block of all members' vectors into work memory, segment by segment, and adds it to `to`. Returns the steps
/// after which the segments are there. `own` is this member's operand, `before` as in CanonicalSum.
std::vector<std::uint32_t> put_sums(Pattern& pattern, Member me, Operand own, std::uint64_t bytes, Part to,
                                    std::uint32_t before, const Cutting& cutting) {
  std::vector<Part> memory(me.size);
  for (std::uint32_t i = 0; i < me.size; ++i) memory[i] = i == me.rank ? own.part : pattern.work(bytes);
  const Cut segments = cutting.of(bytes);
  std::vector<std::uint32_t> sums;
  std::vector<Operand> operands(me.size);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    for (std::uint32_t i = 0; i < me.size; ++i)
      operands[i] = {memory[i] + segments.from(k), i == me.rank ? own.ready : kNoStep};
    for (std::uint32_t s = 1; s < me.size; ++s) {
      auto& operand = operands[sumac::coll::before(me, s)];
      operand.ready = pattern.receive(sumac::coll::before(me, s), operand.part, segments.size(k));
    }
    sums.push_back(CanonicalSum(pattern, operands, segments.size(k)).put(to + segments.from(k), before));
  }
  return sums;
}

/// Sends segments to one member; returns the step after which all have left.
std::uint32_t put_sends(Pattern& pattern, std::uint32_t to, Part from, std::uint64_t bytes, const Cutting& cutting) {
  const Cut segments = cutting.of(bytes);
  std::uint32_t sent = kNoStep;
  for (std::uint64_t k = 0; k < segments.count; ++k)
    sent = pattern.join(sent, pattern.send(to, from + segments.from(k), segments.size(k)));
  return sent;
}

}  // namespace

void put_exchange_barrier(Pattern& pattern, Member me) {
  pattern.meets_all = true;
  for (std::uint32_t s = 1; s < me.size; ++s) {
    pattern.send(next_to(me, s), {}, 0);
    pattern.receive(before(me, s), {}, 0);
  }
}

void put_exchange_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  pattern.meets_all = bytes > 0;
  std::uint32_t sent = kNoStep;
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k)
    for (std::uint32_t s = 1; s < me.size; ++s) {
      const auto leaves = pattern.send(next_to(me, s), in_at(segments.from(k)), segments.size(k));
      if (in_place) sent = pattern.join(sent, leaves);
    }
  if (me.size > 1 || !in_place) put_sums(pattern, me, {in_at(0)}, bytes, out_at(0), sent, cutting);
}

void put_blocks_allreduce(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  if (me.size == 1) {
    if (!in_place) pattern.copy(out_at(0), in_at(0), bytes);
    return;
  }
  pattern.meets_all = bytes > 0;
  const auto begin = [&](std::uint32_t i) { return share_begin(bytes, cutting.unit, me.size, i); };
  const auto size = [&](std::uint32_t i) { return begin(i + 1) - begin(i); };
  for (std::uint32_t s = 1; s < me.size; ++s)
    put_sends(pattern, next_to(me, s), in_at(begin(next_to(me, s))), size(next_to(me, s)), cutting);
  const Part own = out_at(begin(me.rank));
  const auto sums = put_sums(pattern, me, {in_at(begin(me.rank))}, size(me.rank), own, kNoStep, cutting);
  const Cut segments = cutting.of(size(me.rank));
  for (std::uint64_t k = 0; k < segments.count; ++k)
    for (std::uint32_t s = 1; s < me.size; ++s)
      pattern.send(next_to(me, s), own + segments.from(k), segments.size(k), sums[k]);
  // A sum comes back only after this member's own part of it was received, so even in place nothing that is still being
  // sent is overwritten.
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const std::uint32_t from = before(me, s);
    const Cut back = cutting.of(size(from));
    for (std::uint64_t k = 0; k < back.count; ++k)
      pattern.receive(from, out_at(begin(from) + back.from(k)), back.size(k));
  }
}

void put_exchange_reduce_scatter(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                                 const Cutting& cutting) {
  // A member without a block waits for nobody.
  pattern.meets_all = std::ranges::all_of(blocks, [](const Extent& each) { return each.bytes > 0; });
  std::uint32_t sent = kNoStep;
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const Extent& block = blocks[next_to(me, s)];
    if (block.bytes == 0) continue;
    const auto leaves = put_sends(pattern, next_to(me, s), {Area::in, block.at}, block.bytes, cutting);
    if (in_place) sent = pattern.join(sent, leaves);
  }
  const Extent& mine = blocks[me.rank];
  if (mine.bytes == 0 || (me.size == 1 && in_place)) return;
  Operand own{{Area::in, mine.at}};
  if (in_place && mine.at > 0 && static_cast<std::uint64_t>(mine.at) < mine.bytes) {  // The sum lies over a part of it.
    own.part = pattern.work(mine.bytes);
    own.ready = pattern.copy(own.part, {Area::in, mine.at}, mine.bytes);
  }
  put_sums(pattern, me, own, mine.bytes, out_at(0), sent, cutting);
}

void put_exchange_reduce(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting) {
  if (me.rank != root) {
    put_sends(pattern, root, in_at(0), bytes, cutting);
  } else if (me.size > 1 || !in_place) {
    put_sums(pattern, me, {in_at(0)}, bytes, out_at(0), kNoStep, cutting);
  }
}

void put_exchange_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting) {
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    if (me.rank != root) {
      pattern.receive(root, out_at(segments.from(k)), segments.size(k));
      continue;
    }
    for (std::uint32_t s = 1; s < me.size; ++s)
      pattern.send(next_to(me, s), out_at(segments.from(k)), segments.size(k));
  }
}

void put_exchange_allgather(Pattern& pattern, Member me, std::span<const Extent> blocks, bool in_place,
                            const Cutting& cutting) {
  pattern.meets_all = std::ranges::none_of(blocks, [](const Extent& block) { return block.bytes == 0; });
  const Part own{Area::out, blocks[me.rank].at};
  if (!in_place) pattern.copy(own, in_at(0), blocks[me.rank].bytes);
  for (std::uint32_t s = 1; s < me.size; ++s)
    put_sends(pattern, next_to(me, s), in_place ? own : in_at(0), blocks[me.rank].bytes, cutting);
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const Extent& block = blocks[before(me, s)];
    const Cut segments = cutting.of(block.bytes);
    for (std::uint64_t k = 0; k < segments.count; ++k)
      pattern.receive(before(me, s), Part{Area::out, block.at} + segments.from(k), segments.size(k));
  }
}

void put_exchange_alltoall(Pattern& pattern, Member me, std::span<const Extent> leaves, std::span<const Extent> comes,
                           bool in_place, bool skips_empty, const Cutting& cutting) {
  pattern.meets_all = !skips_empty;
  // Even an empty block has a message where `skips_empty` is false, so that members that disagree on it find out.
  const auto count = [&](const Cut& segments) { return segments.count == 0 && !skips_empty ? 1 : segments.count; };
  std::vector<Part> from(me.size);
  std::vector<std::uint32_t> copied(me.size, kNoStep);
  for (std::uint32_t i = 0; i < me.size; ++i) {
    if (i == me.rank) continue;
    from[i] = {Area::in, in_place ? 0 : leaves[i].at};
    if (!in_place || comes[i].bytes == 0) continue;
    from[i] = pattern.work(comes[i].bytes);
    copied[i] = pattern.copy(from[i], {Area::out, comes[i].at}, comes[i].bytes);
  }
  if (!in_place && leaves[me.rank].bytes > 0)
    pattern.copy({Area::out, comes[me.rank].at}, {Area::in, leaves[me.rank].at}, leaves[me.rank].bytes);
  std::vector<std::uint32_t> arrived(me.size, kNoStep);
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const std::uint32_t to = next_to(me, s), by = before(me, s);
    const Cut there = cutting.of(in_place ? comes[to].bytes : leaves[to].bytes);
    const std::uint32_t earlier = there.count > 1 && s > kAtOnce ? arrived[s - kAtOnce] : kNoStep;
    for (std::uint64_t k = 0; k < count(there); ++k)
      pattern.put({.what = Step::Do::send,
                   .peer = to,
                   .bytes = there.size(k),
                   .from = from[to] + there.from(k),
                   .after = {copied[to], earlier}});
    const Cut back = cutting.of(comes[by].bytes);
    for (std::uint64_t k = 0; k < count(back); ++k)
      arrived[s] = pattern.receive(by, Part{Area::out, comes[by].at} + back.from(k), back.size(k), copied[by]);
  }
}

void put_linear_gather(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes,
                       std::span<const Extent> blocks, bool in_place, const Cutting& cutting) {
  if (me.rank != root) {
    put_sends(pattern, root, in_at(0), bytes, cutting);
    return;
  }
  if (!in_place) pattern.copy({Area::out, blocks[root].at}, in_at(0), blocks[root].bytes);
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const std::uint32_t from = before(me, s);
    const Cut segments = cutting.of(blocks[from].bytes);
    for (std::uint64_t k = 0; k < segments.count; ++k)
      pattern.receive(from, Part{Area::out, blocks[from].at} + segments.from(k), segments.size(k));
  }
}

void put_linear_scatter(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes,
                        std::span<const Extent> blocks, bool in_place, const Cutting& cutting) {
  if (me.rank != root) {
    const Cut segments = cutting.of(bytes);
    for (std::uint64_t k = 0; k < segments.count; ++k)
      pattern.receive(root, out_at(segments.from(k)), segments.size(k));
    return;
  }
  if (!in_place) pattern.copy(out_at(0), {Area::in, blocks[root].at}, blocks[root].bytes);
  for (std::uint32_t s = 1; s < me.size; ++s) {
    const std::uint32_t to = next_to(me, s);
    put_sends(pattern, to, {Area::in, blocks[to].at}, blocks[to].bytes, cutting);
  }
}

}  // namespace sumac::coll
