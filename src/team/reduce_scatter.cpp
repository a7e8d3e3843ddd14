#include "team/reduce_scatter.hpp"

#include <algorithm>

#include "base/copy.hpp"
#include "coll/canonical_fold.hpp"
#include "coll/cut.hpp"
#include "shm/segment/layout.hpp"
#include "team/c_types.hpp"

namespace sumac::team {

ReduceScatter::ReduceScatter(const Layout& layout)
    : layout_(layout),
      ranks_(static_cast<std::size_t>(layout.size)),
      members_(layout.island_members().size()),
      me_(static_cast<std::size_t>(layout.island_index())) {
  int next = 0;
  std::size_t largest = 0;
  for (const auto& island : layout.islands) largest = std::max(largest, island.size());
  spread_ = std::max(ranks_, largest * layout.islands.size());
  for (const auto& island : layout.islands)
    for (const int r : island) in_order_ = in_order_ && r == next++;
}

std::size_t ReduceScatter::begin(const coll::Operation& operation, bool by_tree, std::size_t vector_bytes,
                                 std::size_t depth_max) {
  operation_ = &operation;
  by_tree_ = by_tree;
  in_ = static_cast<const std::byte*>(operation.in == nullptr ? operation.out : operation.in);
  begins_.assign(ranks_ + 1, 0);
  std::size_t largest = 0;
  for (std::size_t r = 0; r < ranks_; ++r) {
    const bool is_even = operation.kind == coll::Kind::reduce_scatter_block;
    const std::size_t bytes = is_even ? operation.bytes : operation.in_blocks.bytes(static_cast<int>(r));
    begins_[r + 1] = begins_[r] + bytes;
    largest = std::max(largest, bytes);
  }
  const coll::Cut chunks =
      coll::cut(largest, {.most = vector_bytes / spread_, .unit = shm::unit_for(operation.fold->element_bytes)});
  step_ = chunks.step;
  chunks_ = chunks.count;
  depth_ = std::min(depth_max, chunks_);
  if (layout_.leads()) {
    sums_.need(depth_ * ranks_ * step_);
    if (!by_tree_) parts_.need(depth_ * layout_.islands.size() * members_ * step_);
    if (across_.size() < 2 * depth_) across_.resize(2 * depth_);
  }
  return chunks_;
}

std::size_t ReduceScatter::bytes_of(std::size_t chunk, int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return coll::part_at(chunk * step_, begins_[r + 1] - begins_[r], step_);
}
std::size_t ReduceScatter::island_bytes(std::size_t chunk, std::size_t island) const {
  std::size_t bytes = 0;
  for (const int r : layout_.islands[island]) bytes += bytes_of(chunk, r);
  return bytes;
}
std::byte* ReduceScatter::sums(std::size_t chunk) { return sums_.data() + chunk % depth_ * ranks_ * step_; }
std::byte* ReduceScatter::parts(std::size_t chunk) {
  return parts_.data() + chunk % depth_ * layout_.islands.size() * members_ * step_;
}

/// Copies the chunk's columns of all blocks, in the order of islands.
const std::byte* ReduceScatter::pack(std::size_t chunk, std::byte* to) const {
  std::byte* at = to;
  for (const auto& island : layout_.islands)
    for (const int r : island) {
      const std::size_t bytes = bytes_of(chunk, r);
      if (bytes != 0) copy_bytes(at, in_ + begins_[static_cast<std::size_t>(r)] + chunk * step_, bytes);
      at += bytes;
    }
  return to;
}

std::size_t ReduceScatter::chunk_bytes(std::size_t chunk) const {
  std::size_t bytes = 0;
  for (std::size_t j = 0; j < layout_.islands.size(); ++j) bytes += island_bytes(chunk, j);
  return bytes;
}

void ReduceScatter::fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) {
  if (phase.errand == Errand::sum) {
    operation.bytes = chunk_bytes(chunk);
    operation.in = in_order_ && chunks_ == 1 ? in_ : pack(chunk, packed_.need(ranks_ * step_));
    operation.out = me_ == 0 ? sums(chunk) : nullptr;
    operation.fold = operation_->fold;
    return;
  }
  in_row_.reset(members_);
  out_row_.reset(members_);
  std::size_t at = 0;
  for (std::size_t m = 0; m < members_ && me_ == 0; ++m) {
    const std::size_t bytes = bytes_of(chunk, layout_.island_members()[m]);
    in_row_.set(m, bytes, at);
    at += bytes;
  }
  const std::size_t own = bytes_of(chunk, layout_.rank);
  out_row_.set(0, own, 0);
  operation.bytes = 0;
  // A rank that gives or gets nothing still needs two different addresses: equal ones would mean "in place". Behind the end of the user's buffer
  // anything may lie, also what is dealt.
  operation.in = at > 0 ? dealt_ : nothing_;
  operation.out = own > 0 ? static_cast<std::byte*>(operation_->out) + chunk * step_ : nothing_ + 1;
  operation.in_blocks = in_row_.blocks();
  operation.out_blocks = out_row_.blocks();
}

void ReduceScatter::fill_across(std::size_t chunk, coll::Operation& operation) {
  if (!layout_.island_part) pack(chunk, sums(chunk));
  operation.in = operation.out = sums(chunk);
  if (by_tree_) {
    operation.bytes = chunk_bytes(chunk);
    operation.fold = operation_->fold;
    return;
  }
  const std::size_t islands = layout_.islands.size(), own = island_bytes(chunk, mine());
  SmallRow& leaves = across_[chunk % depth_ * 2];
  SmallRow& comes = across_[chunk % depth_ * 2 + 1];
  leaves.reset(islands);
  comes.reset(islands);
  std::size_t at = 0;
  for (std::size_t j = 0; j < islands; ++j) {
    const std::size_t bytes = island_bytes(chunk, j);
    if (j != mine()) {
      leaves.set(j, bytes, at);
      comes.set(j, own, j * own);
    }
    at += bytes;
  }
  operation.out = parts(chunk);
  operation.in_blocks = leaves.blocks();
  operation.out_blocks = comes.blocks();
}

bool ReduceScatter::arrived(std::size_t chunk) {
  const std::size_t part = island_bytes(chunk, mine());
  std::byte* own = sums(chunk);
  for (std::size_t j = 0; j < mine(); ++j) own += island_bytes(chunk, j);
  dealt_ = own;
  if (!by_tree_ && part != 0) {
    const coll::Fold& fold = *operation_->fold;
    const auto part_of = [&](std::size_t j) { return j == mine() ? own : parts(chunk) + j * part; };
    const auto islands = static_cast<int>(layout_.islands.size());
    std::byte* const sum = part_of(0);
    coll::fold_canonical(fold, islands, sum, sum, spare_.need(coll::spare_buffers(islands) * part), part,
                         [&](int j) -> const std::byte* { return part_of(static_cast<std::size_t>(j)); });
    dealt_ = sum;
  }
  if (!layout_.island_part && part != 0)
    copy_bytes(static_cast<std::byte*>(operation_->out) + chunk * step_, dealt_, part);
  return true;
}

}  // namespace sumac::team
