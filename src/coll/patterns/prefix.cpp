#include "coll/patterns/prefix.hpp"

namespace sumac::coll {
namespace {

/// A value and the step after which it may be read.
struct Value {
  Part at{};
  std::uint32_t made = kNoStep;
};

/// One segment of the vector. Each sum has memory of its own, so none is overwritten while it is being sent.
class Prefix {
 public:
  Prefix(Pattern& pattern, Member me, std::uint64_t at, std::uint64_t bytes)
      : pattern_(pattern), me_(me), bytes_(bytes), out_{Area::out, static_cast<std::int64_t>(at)} {}

  /// `own` is not the memory of the result, of which it is no part if `is_exclusive`.
  void put(const Value& own, bool is_exclusive) {
    Value block = own,
          result = is_exclusive ? Value{} : own;  // The sums of this member's block, and of its members up to this one.
    RankBlock mine{me_.rank, 1};
    for (auto other = sibling(mine, me_.size); other; other = sibling(mine, me_.size)) {
      const RankBlock both = joined(mine, *other);
      const bool is_last = both.first + both.count == me_.size;  // Nobody needs the sum of both.
      const std::uint32_t index = me_.rank - mine.first, peer = other->first + index;
      if (other->first < mine.first) {
        result = add_lower(peer, block, result, is_last);
      } else {
        if (index < other->count) pattern_.send(peer, block.at, bytes_, block.made);
        if (!is_last) block = add(peer, block, pattern_.work(bytes_), false);
      }
      mine = both;
    }
    if (result.at.area != Area::out && result.at.area != Area::none)
      pattern_.copy(out_, result.at, bytes_, result.made);
  }

 private:
  Value add(std::uint32_t peer, const Value& own, Part to, bool arrived_first) {
    return {to, pattern_.put({.what = Step::Do::add,
                              .arrived_first = arrived_first,
                              .peer = peer,
                              .bytes = bytes_,
                              .to = to,
                              .from = own.at,
                              .after = {own.made, kNoStep}})};
  }
  Value combine(const Value& lower, const Value& own, Part to) {
    return {to, pattern_.put({.what = Step::Do::combine,
                              .bytes = bytes_,
                              .to = to,
                              .from = lower.at,
                              .other = own.at,
                              .after = {lower.made, own.made}})};
  }
  /// The sum of the block before goes to the result, and to the sum of both blocks where that one is needed.
  Value add_lower(std::uint32_t peer, Value& block, const Value& result, bool is_last) {
    const bool is_first = result.at.area == Area::none;
    if (is_last && is_first) return {out_, pattern_.receive(peer, out_, bytes_)};
    if (is_last) return add(peer, result, out_, true);
    pattern_.send(peer, block.at, bytes_, block.made);
    const Part arrives = pattern_.work(bytes_);
    const Value lower{arrives, pattern_.receive(peer, arrives, bytes_)};
    block = combine(lower, block, pattern_.work(bytes_));
    return is_first ? lower : combine(lower, result, out_);
  }

  Pattern& pattern_;
  Member me_;
  std::uint64_t bytes_;
  Part out_;
};

}  // namespace

namespace {

void put_prefix(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, bool is_exclusive,
                const Cutting& cutting) {
  if (me.size == 1 && (in_place || is_exclusive)) return;
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    Value own{Part{Area::in, 0} + segments.from(k)};
    if (in_place) {
      const Part copy = pattern.work(segments.size(k));
      own = {copy, pattern.copy(copy, own.at, segments.size(k))};
    }
    Prefix(pattern, me, segments.from(k), segments.size(k)).put(own, is_exclusive);
  }
}

}  // namespace

void put_scan(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  put_prefix(pattern, me, bytes, in_place, false, cutting);
}

void put_exscan(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  put_prefix(pattern, me, bytes, in_place, true, cutting);
}

}  // namespace sumac::coll
