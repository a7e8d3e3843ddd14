#pragma once
// Folds operands along the canonical tree over their numbers (canonical.hpp), so that the bits of a sum depend neither
// on who adds it nor on where the operands lie. It takes as many calls of Fold::combine() as a fold one after the other.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "coll/operation.hpp"

namespace sumac::coll {

/// The number of buffers that a fold of `operands` needs beside its result: a right half with more than one operand is
/// added up beside the left one. 0 for up to 3 operands, 1 up to 6, 2 for 8, 6 for 168.
constexpr std::size_t spare_buffers(int operands) noexcept {
  std::size_t most = 0;
  while (operands > 3) {
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(operands - 1)));
    most = std::max(most, 1 + spare_buffers(operands - left));
    operands = left;
  }
  return most;
}

/// The memory for the spare buffers, which fits on the stack.
inline constexpr std::size_t kSpareBytes = std::size_t{64} * 1024;

/// The most bytes that an element of so many operands may have: the spare buffers and one more must hold it.
constexpr std::size_t folded_element_max(int operands) noexcept { return kSpareBytes / (spare_buffers(operands) + 1); }

namespace detail {

template <class Source>
struct CanonicalFold {
  const Fold& fold;
  const Source& source;
  std::byte* spare;   ///< Buffers of `bytes` one after the other.
  std::size_t bytes;  ///< The size of one buffer.
  std::size_t count;  ///< The elements of each operand.

  /// Returns the sum of [first, first + operands): in `to`, or the operand itself if it is one.
  const std::byte* sum(int first, int operands, std::byte* to, std::byte* free) const {
    if (operands == 1) return source(first);
    return halves(first, operands, to, to, free);
  }
  /// Stores the sum of at least two operands in `to`; the left half grows in `between`.
  const std::byte* halves(int first, int operands, std::byte* between, std::byte* to, std::byte* free) const {
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(operands - 1)));
    const std::byte* const a = sum(first, left, between, free);
    const std::byte* const b = sum(first + left, operands - left, free, free + bytes);
    fold.combine(to, a, b, count);
    return to;
  }
};

}  // namespace detail

/// Stores source(0) op source(1) op ... of `bytes` (whole elements) each in `out`; source(i) returns a `const
/// std::byte*`. `out` may be any of the operands if `between` is another buffer, which then holds the left half of the
/// sum; otherwise `between` is `out`, which may be one of the first two operands. `spare` has room for
/// spare_buffers(operands) buffers of `bytes`.
template <class Source>
void fold_canonical(const Fold& fold, int operands, std::byte* out, std::byte* between, std::byte* spare,
                    std::size_t bytes, const Source& source) {
  if (operands == 1) {
    if (out != source(0)) std::memcpy(out, source(0), bytes);
    return;
  }
  const detail::CanonicalFold<Source> folding{fold, source, spare, bytes, bytes / fold.element_bytes};
  folding.halves(0, operands, between, out, spare);
}

}  // namespace sumac::coll
