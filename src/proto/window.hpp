#pragma once
// The window decides whether a number is live. A child contributes n only when every number up to n - window is
// complete at it, hence answered by its node. With A = the node's first unanswered number, an honest child's n is
// therefore before A + window. And once every child has contributed n, each has shown that it has all results up to n -
// window: the node need not keep those. So a node holds only numbers in [A - R, A + R), R = the larger of both windows:
// a ring of 2R slots, found by the number's low bits.
#include <bit>
#include <cstdint>

#include "wire/agg.hpp"

namespace sumac::proto {

enum class Place : std::uint8_t {
  live,
  late,    ///< Before the kept numbers: every child has its result, so this is a late copy.
  beyond,  ///< More than the window ahead of the answered numbers: no honest child can be there.
};

constexpr Place place(Sequence number, std::uint32_t window, Sequence kept_from, Sequence first_unanswered) {
  if (seq_before(number, kept_from)) return Place::late;
  if (!seq_before(number, seq_next(first_unanswered, window))) return Place::beyond;
  return Place::live;
}

constexpr std::uint32_t ring_size(std::uint32_t osts, std::uint32_t stream_window) noexcept {
  return std::bit_ceil(2 * (osts > stream_window ? osts : stream_window));
}

}  // namespace sumac::proto
