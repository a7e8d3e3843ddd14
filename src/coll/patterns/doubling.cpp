#include "coll/patterns/doubling.hpp"

namespace sumac::coll {
namespace {

std::uint32_t rounds_of(Member me) {
  std::uint32_t rounds = 0;
  RankBlock block{me.rank, 1};
  for (auto other = sibling(block, me.size); other; other = sibling(block, me.size), ++rounds)
    block = joined(block, *other);
  return rounds;
}

/// One segment of the vector. Each round's sum has memory of its own, so no sum is overwritten while it is being sent;
/// only the last one, in `out`, may lie where `in` is still being sent.
class Segment {
 public:
  Segment(Pattern& pattern, Member me, bool in_place, std::uint64_t at, std::uint64_t bytes)
      : pattern_(pattern), me_(me), in_place_(in_place), bytes_(bytes), sum_{Area::in, static_cast<std::int64_t>(at)} {}

  void put(const std::vector<Part>& sums) {
    RankBlock mine{me_.rank, 1};
    for (const Part to : sums) {
      const auto other = *sibling(mine, me_.size);
      exchange(mine, other, to);
      mine = joined(mine, other);
    }
  }

 private:
  void exchange(RankBlock mine, RankBlock other, Part to) {
    const std::uint32_t index = me_.rank - mine.first;
    for (std::uint64_t i = index; i < other.count; i += mine.count) {
      const auto sent = pattern_.send(other.first + static_cast<std::uint32_t>(i), sum_, bytes_, added_);
      if (in_place_ && sum_.area == Area::in) sent_ = pattern_.join(sent_, sent);
    }
    // Two members whose memory is free only when the other has received would wait for each other.
    const bool must_pass = to.area == Area::out && in_place_ && sum_.area == Area::in;
    const Part sum = must_pass ? pattern_.work(bytes_) : to;
    added_ = pattern_.put({.what = Step::Do::add,
                           .arrived_first = other.first < mine.first,
                           .peer = other.first + index % other.count,
                           .bytes = bytes_,
                           .to = sum,
                           .from = sum_,
                           .after = {added_, to.area == Area::out && !must_pass ? sent_ : kNoStep}});
    if (must_pass)
      pattern_.put({.what = Step::Do::copy, .bytes = bytes_, .to = to, .from = sum, .after = {added_, sent_}});
    sum_ = to;
  }

  Pattern& pattern_;
  Member me_;
  bool in_place_;
  std::uint64_t bytes_;
  Part sum_;
  std::uint32_t added_ = kNoStep;
  std::uint32_t sent_ = kNoStep;  ///< Over when all sends from `in` are; only kept where `out` is the same memory.
};

}  // namespace

void put_doubling(Pattern& pattern, Member me, std::uint64_t bytes, bool in_place, const Cutting& cutting) {
  pattern.meets_all = bytes > 0;
  const std::uint32_t rounds = rounds_of(me);
  if (rounds == 0 && !in_place) pattern.copy({Area::out, 0}, {Area::in, 0}, bytes);
  if (rounds == 0) return;
  std::vector<Part> sums;
  for (std::uint32_t i = 0; i + 1 < rounds; ++i) sums.push_back(pattern.work(bytes));
  sums.push_back({Area::out, 0});
  const Cut segments = cutting.of(bytes);
  for (std::uint64_t k = 0; k < segments.count; ++k) {
    auto here = sums;
    for (Part& part : here) part = part + segments.from(k);
    Segment(pattern, me, in_place, segments.from(k), segments.size(k)).put(here);
  }
}

void put_dissemination(Pattern& pattern, Member me) {
  pattern.meets_all = true;
  std::uint32_t arrived = kNoStep;
  for (std::uint64_t distance = 1; distance < me.size; distance *= 2) {
    const auto d = static_cast<std::uint32_t>(distance);
    pattern.send(next_to(me, d), {}, 0, arrived);
    arrived = pattern.receive(before(me, d), {}, 0, arrived);
  }
}

}  // namespace sumac::coll
