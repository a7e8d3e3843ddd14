#include "shm/segment/layout.hpp"

#include <algorithm>

#include "shm/segment/segment.hpp"

namespace sumac::shm {

namespace {

GroupLayout place(const Shape& shape, int size, std::size_t begin) noexcept {
  const auto members = static_cast<std::size_t>(size);
  GroupLayout at;
  at.controls = begin;
  at.lines = at.controls + members * sizeof(Control);
  at.eager = round_up(at.lines + members * kLineRing * sizeof(Line), kPage);
  // alltoall and the like cut the buffer into one cell per member, and a cell must hold at least the largest element.
  at.eager_bytes = std::max(shape.eager_bytes, members * kCacheLine);
  at.eager_stride = round_up(kEagerRing * at.eager_bytes, kPage) + kPage;  // The last page leaves room for stagger().
  at.large = at.eager + members * at.eager_stride;
  at.large_stride = shape.large_bytes == 0 ? 0 : round_up(shape.large_bytes, kPage) + kPage;
  at.rooted = at.large + members * at.large_stride;
  at.end = at.rooted + members * kRootedStride;
  return at;
}

}  // namespace

std::size_t groups_begin(const Shape& shape) noexcept {
  return round_up(sizeof(SegmentHeader) + static_cast<std::size_t>(shape.members) * sizeof(MemberEntry), kPage);
}

GroupLayout layout_of(const Shape& shape, std::size_t group) noexcept {
  std::size_t begin = groups_begin(shape);
  for (std::size_t g = 0; g < group; ++g) begin = place(shape, shape.group_sizes[g], begin).end;
  return place(shape, shape.group_sizes[group], begin);
}

std::size_t segment_bytes(const Shape& shape) noexcept {
  return shape.group_sizes.empty() ? groups_begin(shape) : layout_of(shape, shape.group_sizes.size() - 1).end;
}

}  // namespace sumac::shm
