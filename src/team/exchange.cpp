#include "team/exchange.hpp"

#include <cstring>

namespace sumac::team {
namespace {

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

Exchange::Exchange(const Layout& layout, std::size_t limit)
    : layout_(layout),
      limit_(limit),
      members_(layout.island_members().size()),
      me_(static_cast<std::size_t>(layout.island_index())) {
  for (std::size_t j = 0; j < layout.islands.size(); ++j) {
    begins_.push_back(remote_.size());
    if (static_cast<int>(j) != layout.island())
      remote_.insert(remote_.end(), layout.islands[j].begin(), layout.islands[j].end());
  }
  begins_.push_back(remote_.size());
}

std::size_t Exchange::to_bytes(int rank) const {
  if (!is_v_) return operation_->bytes;
  const coll::Blocks& blocks = in_place_ ? operation_->out_blocks : operation_->in_blocks;
  return static_cast<std::size_t>(blocks.counts[rank]) * blocks.unit;
}

std::size_t Exchange::from_bytes(int rank) const {
  return is_v_ ? static_cast<std::size_t>(operation_->out_blocks.counts[rank]) * operation_->out_blocks.unit
               : operation_->bytes;
}

const std::byte* Exchange::to(int rank) const {
  if (in_place_) return from(rank);
  const auto* in = static_cast<const std::byte*>(operation_->in);
  if (!is_v_) return in + static_cast<std::size_t>(rank) * operation_->bytes;
  return in + static_cast<std::ptrdiff_t>(operation_->in_blocks.displacements[rank]) *
                  static_cast<std::ptrdiff_t>(operation_->in_blocks.unit);
}

std::byte* Exchange::from(int rank) const {
  auto* out = static_cast<std::byte*>(operation_->out);
  if (!is_v_) return out + static_cast<std::size_t>(rank) * operation_->bytes;
  return out + static_cast<std::ptrdiff_t>(operation_->out_blocks.displacements[rank]) *
                   static_cast<std::ptrdiff_t>(operation_->out_blocks.unit);
}

std::size_t Exchange::sum(const std::uint32_t* sizes, std::size_t count) {
  std::size_t total = 0;
  for (std::size_t k = 0; k < count; ++k) total += sizes[k];
  return total;
}

void Exchange::begin(const coll::Operation& operation) {
  operation_ = &operation;
  is_v_ = operation.kind == coll::Kind::alltoallv;
  in_place_ = operation.in == nullptr || operation.in == operation.out;
  note_sizes();
  if (!layout_.island_part) {  // alone on its island: nothing comes before the way across
    pack();
    copy_own();
  }
}

void Exchange::note_sizes() {
  sizes_.resize((is_v_ ? members_ : 1) * 2 * remote_.size());
  std::uint32_t* const own = sizes_.data() + row_of(me_);
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    const std::size_t there = to_bytes(remote_[k]), back = from_bytes(remote_[k]);
    own[k] = static_cast<std::uint32_t>(there <= limit_ ? there : 0);
    own[remote_.size() + k] = static_cast<std::uint32_t>(back <= limit_ ? back : 0);
  }
}

/// This rank's blocks for the other islands, one behind the other; the leader's are the first row of what it gathers.
void Exchange::pack() {
  const std::uint32_t* sizes = sends(me_);
  std::byte* at = packed_.need(sum(sizes, remote_.size()));
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    copy(at, to(remote_[k]), sizes[k]);
    at += sizes[k];
  }
}

void Exchange::copy_own() {
  if (!in_place_) copy(from(layout_.rank), to(layout_.rank), to_bytes(layout_.rank));
}

/// Of an alltoallv whose blocks are all above the limit only the local ones are left.
bool Exchange::needs(const Phase& phase) const {
  if (!is_v_ || (phase.errand != Errand::gather && phase.errand != Errand::deal)) return true;
  for (std::size_t m = 0; m < members_; ++m)
    if (sum(phase.errand == Errand::gather ? sends(m) : gets(m), remote_.size()) != 0) return true;
  return false;
}

void Exchange::fill(const Phase& phase, std::size_t, coll::Operation& operation) {
  in_row_.reset(members_);
  out_row_.reset(members_);
  operation.in = operation.out = nullptr;
  operation.bytes = 0;
  switch (phase.errand) {
    case Errand::counts:  // in place
      operation.out = sizes_.data();
      operation.bytes = 2 * remote_.size() * sizeof(std::uint32_t);
      return;
    case Errand::gather: fill_gather(operation); break;
    case Errand::local: fill_local(operation); break;
    default: fill_deal(operation); break;
  }
  // Who sends or gets nothing still needs two different addresses: the same one would mean "in place".
  if (operation.in == nullptr && phase.errand != Errand::local) operation.in = nothing_;
  if (operation.out == nullptr) operation.out = nothing_ + 1;
  if (phase.errand != Errand::local) {
    operation.in_blocks = in_row_.blocks();
    operation.out_blocks = out_row_.blocks();
  }
}

void Exchange::fill_gather(coll::Operation& operation) {
  if (me_ != 0) {
    pack();
    in_row_.set(0, sum(sends(me_), remote_.size()), 0);
    operation.in = packed_.data();
    return;
  }
  std::size_t at = 0;
  for (std::size_t m = 0; m < members_; ++m) {
    const std::size_t bytes = sum(sends(m), remote_.size());
    if (m > 0) out_row_.set(m, bytes, at);
    at += bytes;
  }
  operation.out = packed_.need(at);
  pack();
}

void Exchange::fill_local(coll::Operation& operation) {
  operation.in = in_place_ ? nullptr : operation_->in;
  operation.out = operation_->out;
  const auto& members = layout_.island_members();
  for (std::size_t m = 0; m < members_; ++m) {
    const auto r = static_cast<std::size_t>(members[m]);
    in_row_.counts[m] = is_v_ && !in_place_ ? operation_->in_blocks.counts[r] : 1;
    in_row_.displacements[m] = is_v_ && !in_place_ ? operation_->in_blocks.displacements[r] : members[m];
    out_row_.counts[m] = is_v_ ? operation_->out_blocks.counts[r] : 1;
    out_row_.displacements[m] = is_v_ ? operation_->out_blocks.displacements[r] : members[m];
  }
  operation.in_blocks = in_row_.blocks();
  operation.out_blocks = out_row_.blocks();
  operation.in_blocks.unit = is_v_ ? operation_->in_blocks.unit : operation_->bytes;
  operation.out_blocks.unit = is_v_ ? operation_->out_blocks.unit : operation_->bytes;
}

void Exchange::fill_deal(coll::Operation& operation) {
  if (me_ != 0) {
    const std::size_t bytes = sum(gets(me_), remote_.size());
    out_row_.set(0, bytes, 0);
    operation.out = sorted_.need(bytes);
    return;
  }
  std::size_t at = 0;
  for (std::size_t m = 0; m < members_; ++m) {
    const std::size_t bytes = sum(gets(m), remote_.size());
    if (m > 0) in_row_.set(m, bytes, at);
    at += bytes;
  }
  operation.in = sorted_.data();
}

void Exchange::fill_across(std::size_t, coll::Operation& operation) {
  const std::size_t islands = layout_.islands.size();
  leaves_.reset(islands);
  comes_.reset(islands);
  std::size_t there_all = 0, back_all = 0;
  cursors_.assign(islands, 0);
  for (std::size_t j = 0; j < islands; ++j) {
    const std::size_t first = begins_[j], count = begins_[j + 1] - begins_[j];
    std::size_t there = 0, back = 0;
    for (std::size_t m = 0; m < members_; ++m) {
      there += sum(sends(m) + first, count);
      back += sum(gets(m) + first, count);
    }
    cursors_[j] = there_all;
    leaves_.set(j, there, there_all);
    comes_.set(j, back, back_all);
    there_all += there;
    back_all += back;
  }
  std::byte* leaving = leaving_.need(there_all);
  const std::byte* at = packed_.data();
  for (std::size_t m = 0; m < members_; ++m)
    for (std::size_t j = 0; j < islands; ++j) {
      const std::size_t bytes = sum(sends(m) + begins_[j], begins_[j + 1] - begins_[j]);
      copy(leaving + cursors_[j], at, bytes);
      cursors_[j] += bytes;
      at += bytes;
    }
  operation.in = leaving;
  operation.out = arrived_.need(back_all);
  operation.in_blocks = leaves_.blocks();
  operation.out_blocks = comes_.blocks();
}

/// From each island came, sender by sender, a block for each member here.
void Exchange::arrived(std::size_t) {
  std::size_t comes = 0;
  cursors_.assign(members_, 0);
  for (std::size_t m = 0; m < members_; ++m) {
    cursors_[m] = comes;
    comes += sum(gets(m), remote_.size());
  }
  std::byte* sorted = sorted_.need(comes);
  const std::byte* at = arrived_.data();
  for (std::size_t k = 0; k < remote_.size(); ++k)
    for (std::size_t m = 0; m < members_; ++m) {
      const std::size_t bytes = gets(m)[k];
      copy(sorted + cursors_[m], at, bytes);
      cursors_[m] += bytes;
      at += bytes;
    }
}

void Exchange::finish() {
  const std::byte* at = sorted_.data();
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    const std::size_t bytes = gets(me_)[k];
    copy(from(remote_[k]), at, bytes);
    at += bytes;
  }
}

bool Exchange::fill_direct(coll::Operation& operation) {
  if (!is_v_) return false;
  const auto size = static_cast<std::size_t>(layout_.size);
  bool any = false;
  std::size_t leaves = 0;
  direct_in_.reset(size);
  direct_out_.reset(size);
  for (const int rank : remote_) {
    const auto r = static_cast<std::size_t>(rank);
    const coll::Blocks& blocks = in_place_ ? operation_->out_blocks : operation_->in_blocks;
    if (to_bytes(rank) > limit_) {
      direct_in_.counts[r] = blocks.counts[r];
      direct_in_.displacements[r] = blocks.displacements[r];
      leaves += to_bytes(rank);
      any = true;
    }
    if (from_bytes(rank) > limit_) {
      direct_out_.counts[r] = operation_->out_blocks.counts[r];
      direct_out_.displacements[r] = operation_->out_blocks.displacements[r];
      any = true;
    }
  }
  if (!any) return false;
  operation.kind = coll::Kind::alltoallv;
  operation.in = operation_->in;
  operation.out = operation_->out;
  operation.in_blocks = {direct_in_.counts.data(), direct_in_.displacements.data(),
                         in_place_ ? operation_->out_blocks.unit : operation_->in_blocks.unit};
  operation.out_blocks = {direct_out_.counts.data(), direct_out_.displacements.data(), operation_->out_blocks.unit};
  if (!in_place_) return true;
  std::byte* const copies = direct_.need(leaves);
  int at = 0;
  for (const int rank : remote_) {
    const auto r = static_cast<std::size_t>(rank);
    if (to_bytes(rank) <= limit_) continue;
    copy(copies + static_cast<std::size_t>(at) * operation.in_blocks.unit, to(rank), to_bytes(rank));
    direct_in_.displacements[r] = at;
    at += direct_in_.counts[r];
  }
  operation.in = copies;
  return true;
}

}  // namespace sumac::team
