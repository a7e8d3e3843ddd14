#pragma once
// The canonical tree over a group's ranks fixes the order in which values are added: by the nodes of the tree, where a
// sum must be reproducible (docs/protocol.md), and in shared memory, where ranks share cores (src/shm/turns/pairs.cpp). It
// follows from the numbers 0 to n - 1 alone: a block of 2^k ranks that begins at a multiple of 2^k is the sum of its
// two halves, left before right; a block that would reach past n is cut at n. So [0, n) is split at the largest power
// of two below n, and each part is split in the same manner:
//
//   13 ranks = ((01)(23))((45)(67)) + (((89)(10 11)) + 12)
//
// Neither the host of a rank nor the order of arrival has any influence on it.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace sumac::coll {

/// Group ranks [first, first + count).
struct RankBlock {
  std::uint32_t first = 0, count = 0;
  friend constexpr bool operator==(const RankBlock&, const RankBlock&) = default;
};

/// Returns whether `block` is a node of the canonical tree over `size` ranks.
constexpr bool is_canonical(RankBlock block, std::uint32_t size) noexcept {
  if (block.count == 0 || block.count > size || block.first > size - block.count) return false;
  const std::uint64_t whole = std::bit_ceil<std::uint64_t>(block.count);
  return block.first % whole == 0 && (block.count == whole || block.first + block.count == size);
}

/// Returns the block that a canonical `block` is added to next, which lies on its left or on its right. Returns nothing
/// when `block` is all of [0, size).
constexpr std::optional<RankBlock> sibling(RankBlock block, std::uint32_t size) noexcept {
  for (std::uint64_t width = std::bit_ceil<std::uint64_t>(block.count); width < size; width *= 2) {
    // A sibling on the left is always complete: only the last block of a level is cut.
    if ((block.first & width) != 0)
      return RankBlock{static_cast<std::uint32_t>(block.first - width), static_cast<std::uint32_t>(width)};
    const std::uint64_t right = block.first + width;
    if (right < size)
      return RankBlock{static_cast<std::uint32_t>(right),
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(width, size - right))};
    // The right half would begin past the end, so this block is passed up one level unchanged.
  }
  return std::nullopt;
}

/// Returns the block that two siblings make together.
constexpr RankBlock joined(RankBlock a, RankBlock b) noexcept {
  return {std::min(a.first, b.first), a.count + b.count};
}

}  // namespace sumac::coll
