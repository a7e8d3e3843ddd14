#include "team/prefix.hpp"

#include <algorithm>

#include "base/copy.hpp"
#include "coll/canonical_fold.hpp"
#include "coll/cut.hpp"
#include "shm/segment/layout.hpp"

namespace sumac::team {

std::size_t Prefix::begin(const coll::Operation& operation, std::size_t across_bytes, std::size_t depth_max) {
  operation_ = &operation;
  const coll::Cut chunks = coll::cut(
      operation.bytes, {.most = across_bytes / islands_, .unit = shm::unit_for(operation.fold->element_bytes)});
  step_ = chunks.step;
  depth_ = std::min(depth_max, chunks.count);
  before_.need(depth_ * step_);
  if (layout_.leads()) {
    sums_.need(depth_ * islands_ * step_);
    if (rows_.size() < depth_) rows_.resize(depth_);
  }
  return chunks.count;
}

std::size_t Prefix::bytes_of(std::size_t chunk) const { return coll::part_at(chunk * step_, operation_->bytes, step_); }

const std::byte* Prefix::in(std::size_t chunk) const {
  return static_cast<const std::byte*>(operation_->in_place() ? operation_->out : operation_->in) + chunk * step_;
}

bool Prefix::needs(const Phase& phase) const {
  if (phase.errand == Errand::sum) return !is_last();
  return phase.errand != Errand::deal || mine() != 0;
}

void Prefix::fill(const Phase& phase, std::size_t chunk, coll::Operation& operation) {
  operation.bytes = bytes_of(chunk);
  if (phase.errand == Errand::deal) {
    operation.out = before(chunk);
    return;
  }
  operation.fold = operation_->fold;
  operation.in = in(chunk);
  if (phase.errand == Errand::local) {
    operation.out = out(chunk);
  } else {
    operation.out = layout_.leads() ? sums(chunk) + mine() * operation.bytes : nullptr;
  }
}

void Prefix::fill_across(std::size_t chunk, coll::Operation& operation) {
  const std::size_t bytes = bytes_of(chunk);
  if (!layout_.island_part && !is_last()) copy_bytes(sums(chunk) + mine() * bytes, in(chunk), bytes);
  SmallRow& row = rows_[chunk % depth_];
  row.reset(islands_);
  for (std::size_t i = 0; i + 1 < islands_; ++i) row.set(i, bytes, i * bytes);
  row.set(islands_ - 1, 0, (islands_ - 1) * bytes);
  operation.in = coll::kInPlace;
  operation.out = sums(chunk);
  operation.out_blocks = row.blocks();
}

bool Prefix::arrived(std::size_t chunk) {
  if (mine() == 0) return true;
  const std::size_t bytes = bytes_of(chunk);
  const auto islands = static_cast<int>(mine());
  coll::fold_canonical(*operation_->fold, islands, before(chunk), before(chunk),
                       spare_.need(coll::spare_buffers(islands) * bytes), bytes,
                       [&](int i) { return sums(chunk) + static_cast<std::size_t>(i) * bytes; });
  return true;
}

void Prefix::returned(std::size_t chunk) {
  const std::size_t bytes = bytes_of(chunk);
  const std::byte* const own = layout_.island_part ? out(chunk) : in(chunk);
  if (operation_->kind == coll::Kind::exscan && layout_.leads()) {
    if (mine() != 0) copy_bytes(out(chunk), before(chunk), bytes);
  } else if (mine() != 0) {
    operation_->fold->combine(out(chunk), before(chunk), own, bytes / operation_->fold->element_bytes);
  } else if (own != out(chunk)) {
    copy_bytes(out(chunk), own, bytes);
  }
}

}  // namespace sumac::team
