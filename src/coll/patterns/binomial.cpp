#include "coll/patterns/binomial.hpp"

namespace sumac::coll {
namespace {

/// The tree over the distances from the root: a member's parent is its distance without the lowest set bit, and it
/// speaks for `span` distances, its own first.
struct Place {
  Member me;
  std::uint32_t root = 0, distance = 0;
  std::uint64_t span = 1;  ///< A power of two, or for the root the least one that is not below n.

  Place(Member member, std::uint32_t the_root) : me(member), root(the_root) {
    distance = (me.rank + me.size - root) % me.size;
    span = distance == 0 ? std::bit_ceil(std::uint64_t{me.size}) : std::uint64_t{distance & (~distance + 1)};
  }
  std::uint32_t rank_at(std::uint64_t away) const { return static_cast<std::uint32_t>((root + away) % me.size); }
  std::uint32_t parent() const { return rank_at(distance - span); }
  bool is_root() const { return distance == 0; }
  /// Distances [from, from + count) of the child whose span is `width`.
  std::uint64_t child(std::uint64_t width) const { return distance + width; }
  std::uint64_t count(std::uint64_t from, std::uint64_t width) const { return part_at(from, me.size, width); }
};

/// Calls `run(first rank, count, blocks before)` for each range of neighbouring ranks among distances [from, from +
/// count): one, or two where the ranks wrap round.
template <class Run>
void each_run(const Place& place, std::uint64_t from, std::uint64_t count, Run&& run) {
  const std::uint32_t first = place.rank_at(from);
  const std::uint64_t until_end = std::min<std::uint64_t>(count, place.me.size - first);
  run(first, until_end, std::uint64_t{0});
  if (count > until_end) run(std::uint32_t{0}, count - until_end, until_end);
}

}  // namespace

void put_binomial_bcast(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, const Cutting& cutting) {
  const Place place(me, root);
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    const Part part = out_at(segments.from(k));
    const auto arrived = place.is_root() ? kNoStep : pattern.receive(place.parent(), part, segments.size(k));
    // The child with the most members below it goes first.
    for (std::uint64_t width = place.span / 2; width > 0; width /= 2)
      if (place.child(width) < me.size)
        pattern.send(place.rank_at(place.child(width)), part, segments.size(k), arrived);
  }
}

void put_binomial_reduce(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting) {
  const bool is_root = me.rank == root;
  if (me.size == 1 && !in_place) pattern.copy(out_at(0), {Area::in, 0}, bytes);
  const auto holder = [&](RankBlock block) {
    return root >= block.first && root - block.first < block.count ? root : block.first;
  };
  const Part sum = is_root ? out_at(0) : pattern.work(bytes);
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    Part from = Part{Area::in, 0} + segments.from(k);
    std::uint32_t added = kNoStep;
    RankBlock mine{me.rank, 1};
    for (auto other = sibling(mine, me.size); other; other = sibling(mine, me.size)) {
      const auto both = joined(mine, *other);
      if (holder(both) != me.rank) {
        pattern.send(holder(both), from, segments.size(k), added);
        break;
      }
      added = pattern.put({.what = Step::Do::add,
                           .arrived_first = other->first < mine.first,
                           .peer = holder(*other),
                           .bytes = segments.size(k),
                           .to = sum + segments.from(k),
                           .from = from,
                           .after = {added, kNoStep}});
      from = sum + segments.from(k);
      mine = both;
    }
  }
}

void put_binomial_gather(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                         const Cutting& cutting) {
  const Place place(me, root);
  const Part own{Area::in, 0};
  if (place.is_root() && !in_place) pattern.copy(out_at(me.rank * bytes), own, bytes);
  // A member without children sends its own block as it lies; others collect the blocks by distance.
  const bool has_children = place.span > 1 && place.child(1) < me.size;
  const std::uint64_t held = place.count(place.distance, place.span);
  const Part kept = place.is_root() || !has_children ? Part{} : pattern.work(held * bytes);
  std::uint32_t ready = kNoStep;
  if (!place.is_root() && has_children) ready = pattern.copy(kept, own, bytes);
  for (std::uint64_t width = 1; width < place.span; width *= 2) {
    const std::uint64_t from = place.child(width);
    if (from >= me.size) break;
    each_run(place, from, place.count(from, width), [&](std::uint32_t first, std::uint64_t count, std::uint64_t skip) {
      const Part to = place.is_root() ? out_at(first * bytes) : kept + (from - place.distance + skip) * bytes;
      const Cut segments = cutting.of(count * bytes);
      for (std::uint64_t k = 0; k < segments.count; ++k)
        ready = pattern.join(ready, pattern.receive(place.rank_at(from), to + segments.from(k), segments.size(k)));
    });
  }
  if (place.is_root()) return;
  each_run(place, place.distance, held, [&](std::uint32_t, std::uint64_t count, std::uint64_t skip) {
    const Cut segments = cutting.of(count * bytes);
    for (std::uint64_t k = 0; k < segments.count; ++k)
      pattern.send(place.parent(), (has_children ? kept : own) + (skip * bytes + segments.from(k)), segments.size(k),
                   ready);
  });
}

void put_binomial_scatter(Pattern& pattern, Member me, std::uint32_t root, std::uint64_t bytes, bool in_place,
                          const Cutting& cutting) {
  const Place place(me, root);
  const bool has_children = place.span > 1 && place.child(1) < me.size;
  const std::uint64_t held = place.count(place.distance, place.span);
  const Part kept = place.is_root() || !has_children ? Part{} : pattern.work(held * bytes);
  if (place.is_root() && !in_place) pattern.copy(out_at(0), Part{Area::in, 0} + me.rank * bytes, bytes);
  std::uint32_t ready = kNoStep;
  if (!place.is_root()) {
    each_run(place, place.distance, held, [&](std::uint32_t, std::uint64_t count, std::uint64_t skip) {
      const Cut segments = cutting.of(count * bytes);
      for (std::uint64_t k = 0; k < segments.count; ++k)
        ready =
            pattern.join(ready, pattern.receive(place.parent(),
                                                (has_children ? kept : out_at(0)) + (skip * bytes + segments.from(k)),
                                                segments.size(k)));
    });
    if (has_children) pattern.copy(out_at(0), kept, bytes, ready);
  }
  std::uint64_t widest = place.span / 2;
  for (std::uint64_t width = widest; width > 0; width /= 2) {
    const std::uint64_t from = place.child(width);
    if (from >= me.size) continue;
    each_run(place, from, place.count(from, width), [&](std::uint32_t first, std::uint64_t count, std::uint64_t skip) {
      const Part part =
          place.is_root() ? Part{Area::in, 0} + first * bytes : kept + (from - place.distance + skip) * bytes;
      const Cut segments = cutting.of(count * bytes);
      for (std::uint64_t k = 0; k < segments.count; ++k)
        pattern.send(place.rank_at(from), part + segments.from(k), segments.size(k), ready);
    });
  }
}

}  // namespace sumac::coll
