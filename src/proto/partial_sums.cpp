#include "proto/partial_sums.hpp"

#include <algorithm>

#include "proto/guard.hpp"

namespace sumac::proto {

std::uint32_t BlockMap::learn(std::uint16_t child, std::uint32_t child_members, Block block) {
  if (given_.size() <= child) given_.resize(child + 1u);
  if (block.count > child_members - given_[child]) return kNone;
  for (std::uint32_t rank = block.first; rank != block.first + block.count; ++rank)
    if (ranks_[rank].child != kNoChild) return kNone;
  for (std::uint32_t rank = block.first; rank != block.first + block.count; ++rank) ranks_[rank].child = child;
  given_[child] += block.count;
  ranks_[block.first].index = blocks_;
  ranks_[block.first].count = block.count;
  return blocks_++;
}

void PartialSums::add(const BlockMap& map, std::uint32_t index, Block block, BufferSlice data, std::uint32_t group_size,
                      const reduce::Kernel& kernel) {
  if (sums_.size() < map.blocks()) {
    sums_.resize(map.blocks());
    in_.resize(map.blocks());
  }
  in_[index] = true;
  is_clear_ = false;
  const std::size_t elements = data.size() / kernel.element_bytes();
  while (const auto beside = sibling(block, group_size)) {
    const std::uint32_t other_index = map.at(beside->first);
    if (other_index == BlockMap::kNone || other_index >= sums_.size()) break;
    Sum& other = sums_[other_index];
    if (other.block.count == 0) break;  // the sibling has not arrived
    // Only a part of the sibling has arrived
    if (guard(Guard::whole_sibling, other.block.count != beside->count)) break;
    if (beside->first < block.first) {
      kernel(other.data.data(), data.data(), elements);
      data = std::move(other.data);
      index = other_index;
      block.first = beside->first;
    } else {
      kernel(data.data(), other.data.data(), elements);
    }
    block.count += beside->count;
    other = {};
  }
  sums_[index] = {block, std::move(data)};
}

void PartialSums::clear() noexcept {
  if (is_clear_) return;
  is_clear_ = true;
  for (Sum& sum : sums_) sum = {};
  std::fill(in_.begin(), in_.end(), false);
}

}  // namespace sumac::proto
