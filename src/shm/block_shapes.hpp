#pragma once
// The members' blocks lie in a caller's buffer one after the other with the same size (gather), or with counts and
// displacements (gatherv). An algorithm that is a template of the shape serves both.
#include <algorithm>
#include <cstddef>

#include "coll/operation.hpp"

namespace sumac::shm {

/// All blocks have the same size and follow each other.
struct EvenBlocks {
  static constexpr bool kIsEven = true;
  std::size_t each;
  std::size_t bytes(int) const noexcept { return each; }
  std::ptrdiff_t offset(int m) const noexcept { return static_cast<std::ptrdiff_t>(each) * m; }
  std::size_t largest(int) const noexcept { return each; }
};

/// In gatherv and scatterv only the root knows all blocks.
struct UnevenBlocks {
  static constexpr bool kIsEven = false;
  const coll::Blocks& blocks;
  std::size_t bytes(int m) const noexcept { return blocks.bytes(m); }
  std::ptrdiff_t offset(int m) const noexcept { return blocks.offset(m); }
  std::size_t largest(int members) const noexcept {
    std::size_t most = 0;
    for (int m = 0; m < members; ++m) most = std::max(most, bytes(m));
    return most;
  }
};

/// For an alltoall(v): the blocks that this member sends to the others, and those that it receives from them.
template <class Shape>
struct Exchanged {
  static constexpr bool kIsEven = Shape::kIsEven;
  Shape to, from;
};

inline Exchanged<EvenBlocks> even_blocks(const coll::Operation& operation) noexcept {
  return {{operation.bytes}, {operation.bytes}};
}
inline Exchanged<UnevenBlocks> uneven_blocks(const coll::Operation& operation) noexcept {
  return {{operation.in_place() ? operation.out_blocks : operation.in_blocks}, {operation.out_blocks}};
}

}  // namespace sumac::shm
