#pragma once
// Inside this folder only: the sums of a reproducible number at a node, while contributions come in. A child gives its ranks as one
// or more blocks of the canonical tree (canonical.hpp), always the same ones; two blocks that are siblings there are added, left
// before right, the moment both are in; what stays is passed up as it is, or is the whole result.
//
// The first reproducible number of a group makes room for what is learned from it; later ones allocate nothing.
#include <cstdint>
#include <vector>

#include "base/buffer.hpp"
#include "proto/canonical.hpp"
#include "proto/link_table.hpp"
#include "reduce/reduce.hpp"

namespace sumac::proto {

/// Which child gives which blocks, for all numbers of a group: learned as they come. No rank is given twice.
class BlockMap {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  void clear() noexcept { ranks_ = {}, given_ = {}, blocks_ = 0; }
  /// Which block it is, counted from 0 as they were learned. kNone: not of this child, or not cut as before.
  std::uint32_t index(std::uint16_t child, std::uint32_t child_members, Block block, std::uint32_t group_size) {
    if (ranks_.empty()) ranks_.resize(group_size);
    const Rank& first = ranks_[block.first];
    if (first.child == child && first.count == block.count) return first.index;
    return learn(child, child_members, block);
  }
  /// Of the block that begins at this rank; kNone: none does.
  std::uint32_t at(std::uint32_t rank) const noexcept { return ranks_[rank].count == 0 ? kNone : ranks_[rank].index; }
  std::uint32_t blocks() const noexcept { return blocks_; }

 private:
  struct Rank {
    std::uint32_t index = kNone;
    std::uint32_t count = 0;  ///< 0: inside a block, or nobody's yet.
    std::uint16_t child = kNoChild;
  };
  std::uint32_t learn(std::uint16_t child, std::uint32_t child_members, Block block);

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> given_;  ///< [child]: ranks learned so far.
  std::uint32_t blocks_ = 0;
};

/// Of one number.
class PartialSums {
 public:
  struct Sum {
    Block block{};  ///< count 0: nothing, or added to its sibling.
    BufferSlice data{};
  };

  bool has(std::uint32_t index) const noexcept { return index < in_.size() && in_[index]; }
  /// Adds block `index` of the map, and whatever is complete by it. `data` must be the only reference to its buffer.
  void add(const BlockMap& map, std::uint32_t index, Block block, BufferSlice data, std::uint32_t group_size,
           const reduce::Kernel& kernel);
  /// The sum that begins at block `index`.
  Sum& sum(std::uint32_t index) noexcept { return sums_[index]; }
  /// What nothing here could be added to.
  template <class Use>
  void each(const Use& use) const {
    for (const Sum& sum : sums_)
      if (sum.block.count != 0) use(sum);
  }
  void clear() noexcept;

 private:
  std::vector<Sum> sums_;  // [index of the block that it begins with]
  std::vector<char> in_;   // [index]: this block has come
  bool is_clear_ = true;
};

}  // namespace sumac::proto
