#pragma once
// This header belongs to src/proto alone: the sums of a reproducible number at a node while contributions come in. A
// child gives its ranks as one or more blocks of the canonical tree (canonical.hpp), always the same ones. Two blocks
// that are siblings are added, left before right, the moment both are in; the remaining ones are passed up as they are,
// or are the whole result.
//
// The first reproducible number of a group allocates the tables; later ones allocate nothing.
#include <cstdint>
#include <vector>

#include "base/buffer.hpp"
#include "coll/canonical.hpp"
#include "proto/link_table.hpp"
#include "reduce/reduce.hpp"

namespace sumac::proto {

using Block = coll::RankBlock;

/// Maps blocks to children, for all numbers of a group; it is filled as blocks arrive. Each rank is given at most once.
class BlockMap {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  void clear() noexcept { ranks_ = {}, given_ = {}, blocks_ = 0; }
  /// Returns the index of the block, counted from 0 in the order of arrival. kNone: the block is not this child's, or
  /// it is cut differently than before.
  std::uint32_t index(std::uint16_t child, std::uint32_t child_members, Block block, std::uint32_t group_size) {
    if (ranks_.empty()) ranks_.resize(group_size);
    const Rank& first = ranks_[block.first];
    if (first.child == child && first.count == block.count) return first.index;
    return learn(child, child_members, block);
  }
  /// Returns the index of the block that begins at this rank, or kNone.
  std::uint32_t at(std::uint32_t rank) const noexcept { return ranks_[rank].count == 0 ? kNone : ranks_[rank].index; }
  /// The same before any block has arrived.
  std::uint32_t at_or_none(std::uint32_t rank) const noexcept { return rank < ranks_.size() ? at(rank) : kNone; }
  std::uint32_t blocks() const noexcept { return blocks_; }

 private:
  struct Rank {
    std::uint32_t index = kNone;
    std::uint32_t count = 0;  ///< 0: the rank lies inside a block, or no block with it has arrived.
    std::uint16_t child = kNoChild;
  };
  std::uint32_t learn(std::uint16_t child, std::uint32_t child_members, Block block);

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> given_;  ///< [child]: ranks that it has given so far.
  std::uint32_t blocks_ = 0;
};

/// The partial sums of one number.
class PartialSums {
 public:
  struct Sum {
    Block block{};  ///< count 0: nothing, or it was added to its sibling.
    BufferSlice data{};
  };

  bool has(std::uint32_t index) const noexcept { return index < in_.size() && in_[index]; }
  /// Adds block `index` of the map, and every sum that it completes. `data` must be the only reference to its buffer.
  void add(const BlockMap& map, std::uint32_t index, Block block, BufferSlice data, std::uint32_t group_size,
           const reduce::Kernel& kernel);
  /// Returns the sum that begins at block `index`.
  Sum& sum(std::uint32_t index) noexcept { return sums_[index]; }
  /// Visits the sums that have no sibling here.
  template <class Use>
  void each(const Use& use) const {
    for (const Sum& sum : sums_)
      if (sum.block.count != 0) use(sum);
  }
  void clear() noexcept;

 private:
  std::vector<Sum> sums_;  // [index of the block that the sum begins with]
  std::vector<char> in_;   // [index]: whether this block has arrived
  bool is_clear_ = true;
};

}  // namespace sumac::proto
