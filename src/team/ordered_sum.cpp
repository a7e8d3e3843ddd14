#include "team/ordered_sum.hpp"

#include <algorithm>

#include "coll/canonical_fold.hpp"
#include "coll/cut.hpp"
#include "team/team.hpp"

namespace sumac::team {
namespace {

using coll::Kind;
using shm::Step;

/// The bytes of a sum that are added in one step, so that the sums of both halves stay in the first-level cache.
constexpr std::size_t kAddedBytes = 16 * 1024;

}  // namespace

bool OrderedSum::can_gather(const sumac_team& team) noexcept {
  return team.own_across != nullptr &&
         team.own_across->takes(Kind::allgatherv, team.options->options.chunk.count, nullptr);
}

/// An exchange is worth its second step where it saves more bytes than one chunk has.
bool OrderedSum::can_exchange() const noexcept {
  return !coll::collective(operation_->kind).is_prefix && whole_ * ranks_ > team_.options->options.chunk.count &&
         team_.shape.exchange_max > 0 && team_.own_across->has_direct() &&
         team_.own_across->takes(Kind::alltoallv, 0, nullptr);
}

void OrderedSum::begin(const coll::Operation& operation) {
  operation_ = &operation;
  ranks_ = static_cast<std::size_t>(team_.layout.size);
  const bool is_root = team_.layout.rank == operation.root;
  const bool is_in_place = operation.in_place() && (operation.kind != Kind::reduce || is_root);
  in_ = static_cast<const std::byte*>(is_in_place ? operation.out : operation.in);
  whole_ = operation.kind == Kind::reduce_scatter_block ? operation.bytes * ranks_ : operation.bytes;
  if (can_exchange()) {
    exchange();
  } else {
    offset_ = 0;
    const std::size_t element = operation.fold->element_bytes;
    step_ = std::max(team_.options->options.chunk.count / ranks_ / element * element, element);
    gather_next();
  }
}

Step OrderedSum::advance() {
  for (;;) {
    if (const Step step = part_.advance(); step != Step::done) return step;
    switch (at_) {
      case At::gather:
        add_gathered();
        if ((offset_ += call_.bytes) == whole_) return Step::done;
        gather_next();
        break;
      case At::exchange:
        add_block();
        if (scatters_sums(operation_->kind)) return Step::done;
        give();
        break;
      case At::give: return Step::done;
    }
  }
}

void OrderedSum::start(const coll::Operation& step) {
  call_ = step;
  part_.begin(team_, call_, {.way = Way::leaders});
}

void OrderedSum::gather_next() {
  at_ = At::gather;
  coll::Operation step{.meaning = operation_->meaning};
  step.kind = Kind::allgather;
  step.bytes = coll::part_at(offset_, whole_, step_);
  step.in = in_ + offset_;
  step.out = values_.need(step.bytes * ranks_);
  start(step);
}

/// Adds what this rank's result has of the gathered part. A result in place overwrites only values that have been
/// gathered: of a reduce_scatter it begins at the first one.
void OrderedSum::add_gathered() {
  const std::size_t bytes = call_.bytes;
  std::size_t begin = 0, end = whole_;  // The values that the result is made of.
  const int me = team_.layout.rank;
  if (scatters_sums(operation_->kind)) begin = begin_of_block(me), end = begin + bytes_of_block(me);
  if (operation_->kind == Kind::reduce && team_.layout.rank != operation_->root) return;
  const std::size_t from = std::max(begin, offset_), to = std::min(end, offset_ + bytes);
  if (from >= to) return;
  add(static_cast<std::byte*>(operation_->out) + (from - begin), to - from, values_.data() + (from - offset_), bytes);
}

void OrderedSum::exchange() {
  at_ = At::exchange;
  const std::size_t element = operation_->fold->element_bytes;
  const std::size_t elements = whole_ / element, each = (elements + ranks_ - 1) / ranks_;
  blocks_.reset(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) {
    const std::size_t begin = std::min(r * each, elements);
    blocks_.set(r, std::min(each, elements - begin), begin);
    const int rank = static_cast<int>(r);
    if (scatters_sums(operation_->kind)) blocks_.set(r, bytes_of_block(rank) / element, begin_of_block(rank) / element);
  }
  const auto own = static_cast<std::size_t>(blocks_.counts[static_cast<std::size_t>(team_.layout.rank)]);
  own_ = own * element;
  comes_.reset(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) comes_.set(r, own, r * own);
  coll::Operation step{.meaning = operation_->meaning};
  step.kind = Kind::alltoallv;
  step.in = in_;
  step.out = values_.need(ranks_ * own_);
  step.in_blocks = {blocks_.counts.data(), blocks_.displacements.data(), element};
  step.out_blocks = {comes_.counts.data(), comes_.displacements.data(), element};
  start(step);
}

void OrderedSum::add_block() {
  auto* out = static_cast<std::byte*>(operation_->out);
  const std::size_t element = operation_->fold->element_bytes;
  if (operation_->kind == Kind::allreduce)
    out += static_cast<std::size_t>(blocks_.displacements[static_cast<std::size_t>(team_.layout.rank)]) * element;
  if (operation_->kind == Kind::reduce) out = sum_.need(own_);
  if (own_ != 0) add(out, own_, values_.data(), own_);
}

/// The blocks' sums go to all ranks, or to the root.
void OrderedSum::give() {
  at_ = At::give;
  coll::Operation step{.meaning = operation_->meaning};
  step.out = operation_->out;
  step.out_blocks = {blocks_.counts.data(), blocks_.displacements.data(), operation_->fold->element_bytes};
  if (operation_->kind == Kind::reduce) {
    step.kind = Kind::gatherv;
    step.root = operation_->root;
    step.in = sum_.data();
    step.bytes = own_;
  } else {
    step.kind = Kind::allgatherv;
    step.in = coll::kInPlace;
  }
  start(step);
}

std::size_t OrderedSum::begin_of_block(int rank) const {
  return operation_->kind == Kind::reduce_scatter ? coll::begin_in_a_row(operation_->in_blocks, rank)
                                                  : static_cast<std::size_t>(rank) * operation_->bytes;
}

std::size_t OrderedSum::bytes_of_block(int rank) const {
  return operation_->kind == Kind::reduce_scatter ? operation_->in_blocks.bytes(rank) : operation_->bytes;
}

int OrderedSum::operands() const noexcept {
  const bool is_prefix = coll::collective(operation_->kind).is_prefix;
  return is_prefix ? coll::prefix_of(operation_->kind, team_.layout.rank) : static_cast<int>(ranks_);
}

void OrderedSum::add(std::byte* out, std::size_t bytes, const std::byte* values, std::size_t stride) {
  const coll::Fold& fold = *operation_->fold;
  const int ranks = operands();
  if (ranks == 0) return;
  const std::size_t step = std::max(kAddedBytes / fold.element_bytes * fold.element_bytes, fold.element_bytes);
  std::byte* const spare = spare_.need(coll::spare_buffers(ranks) * step);
  for (std::size_t at = 0; at < bytes; at += step)
    coll::fold_canonical(fold, ranks, out + at, out + at, spare, std::min(step, bytes - at),
                         [&](int r) { return values + static_cast<std::size_t>(r) * stride + at; });
}

}  // namespace sumac::team
