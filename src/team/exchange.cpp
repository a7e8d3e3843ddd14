#include "team/exchange.hpp"

#include <cstring>

#include "base/copy.hpp"
#include "base/fnv.hpp"

namespace sumac::team {
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

std::size_t Exchange::unit_of(const Side& side) const {
  return side.share == coll::Share::sized_blocks ? side.blocks.unit : operation_->bytes;
}

std::size_t Exchange::block_bytes(const Side& side, int rank) const {
  return side.share == coll::Share::sized_blocks ? side.blocks.bytes(rank) : operation_->bytes;
}

std::byte* Exchange::block_at(const Side& side, int rank) const {
  switch (side.share) {
    case coll::Share::sized_blocks: return side.data + side.blocks.offset(rank);
    case coll::Share::blocks: return side.data + static_cast<std::size_t>(rank) * operation_->bytes;
    default: return side.data;
  }
}

std::size_t Exchange::put_block(Row& row, std::size_t i, const Side& side, int rank) const {
  const bool is_sized = side.share == coll::Share::sized_blocks;
  row.counts[i] = is_sized ? side.blocks.count(rank) : 1;
  row.displacements[i] = is_sized ? side.blocks.displacement(rank) : side.share == coll::Share::blocks ? rank : 0;
  return block_bytes(side, rank);
}

std::size_t Exchange::to_bytes(int rank) const { return sends_to(rank) ? block_bytes(send_, rank) : 0; }

std::size_t Exchange::from_bytes(int rank) const { return gets_from(rank) ? block_bytes(get_, rank) : 0; }

const std::byte* Exchange::to(int rank) const { return block_at(send_, rank); }

std::byte* Exchange::from(int rank) const { return block_at(get_, rank); }

std::size_t Exchange::sum(const std::uint32_t* sizes, std::size_t count) {
  std::size_t total = 0;
  for (std::size_t k = 0; k < count; ++k) total += sizes[k];
  return total;
}

void Exchange::begin(const coll::Operation& operation) {
  const coll::Collective& row = coll::collective(operation.kind);
  operation_ = &operation;
  is_v_ = !coll::has_size(operation.kind);
  keeps_own_ = operation.in_place() && (!row.has_root || operation.root == layout_.rank);
  get_ = {static_cast<std::byte*>(operation.out), row.keeps, operation.out_blocks};
  send_ = {static_cast<std::byte*>(const_cast<void*>(operation.in)), row.gives, operation.in_blocks};
  if (keeps_own_ && !row.has_root) send_ = get_;  // The received blocks replace the sent ones.
  note_sizes();
  if (!layout_.island_part) {  // A rank that is alone on its island packs now: no phase comes before the leaders' one.
    pack();
    copy_own();
  }
}

/// In the v-forms a rank knows only its own row; the others come with Errand::counts.
void Exchange::note_sizes() {
  rows_ = is_v_ || coll::collective(operation_->kind).has_root ? members_ : 1;
  sizes_.resize(rows_ * 2 * remote_.size());
  if (is_v_ || rows_ == 1) return note_sizes_of(layout_.rank, sizes_.data() + row_of(me_));
  for (std::size_t m = 0; m < members_; ++m) note_sizes_of(layout_.island_members()[m], sizes_.data() + row_of(m));
}

void Exchange::note_sizes_of(int rank, std::uint32_t* row) const {
  const auto put = [&](std::size_t at, bool has, const Side& side, int other) {
    const std::size_t bytes = has ? block_bytes(side, other) : 0;
    row[at] = static_cast<std::uint32_t>(bytes <= limit_ ? bytes : 0);
  };
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    put(k, coll::has_block(operation_->kind, operation_->root, rank, remote_[k]), send_, remote_[k]);
    put(remote_.size() + k, coll::has_block(operation_->kind, operation_->root, remote_[k], rank), get_, remote_[k]);
  }
}

/// Packs this rank's blocks for the other islands one after the other; the leader's are the first row of the gathered
/// data.
void Exchange::pack() {
  const std::uint32_t* sizes = sends(me_);
  std::byte* at = packed_.need(sum(sizes, remote_.size()));
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    if (sizes[k] == 0) continue;  // A rank other than the root has no displacements.
    copy_bytes(at, to(remote_[k]), sizes[k]);
    at += sizes[k];
  }
}

void Exchange::copy_own() {
  if (keeps_own_ || !sends_to(layout_.rank)) return;
  copy_bytes(from(layout_.rank), to(layout_.rank), to_bytes(layout_.rank));
}

/// All ranks of the island get the same answer, because it depends on the root's rank and all members' block sizes.
bool Exchange::needs(const Phase& phase) const {
  const bool has_root = coll::collective(operation_->kind).has_root;
  if (phase.errand == Errand::counts) return true;
  if (phase.errand == Errand::local)
    return !has_root || layout_.island_of[static_cast<std::size_t>(operation_->root)] == layout_.island();
  if (!is_v_ && !has_root) return !may_have_direct();
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
    case Errand::counts:  // In place.
      operation.out = sizes_.data();
      operation.bytes = 2 * remote_.size() * sizeof(std::uint32_t);
      return;
    case Errand::gather: fill_gather(operation); break;
    case Errand::local: fill_local(operation); break;
    default: fill_deal(operation); break;
  }
  // A rank that sends or receives nothing still needs two different addresses: equal ones would mean "in place".
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
  const bool replaces = keeps_own_ && !coll::collective(operation_->kind).has_root;
  operation.in = replaces ? nullptr : send_.data;
  operation.out = get_.data;
  const auto& members = layout_.island_members();
  for (std::size_t m = 0; m < members_; ++m) {
    const bool moves = replaces || m != me_ || !keeps_own_;
    if (moves && sends_to(members[m])) put_block(in_row_, m, send_, members[m]);
    if (moves && gets_from(members[m])) put_block(out_row_, m, get_, members[m]);
  }
  operation.in_blocks = in_row_.blocks();
  operation.out_blocks = out_row_.blocks();
  operation.in_blocks.unit = unit_of(send_);
  operation.out_blocks.unit = unit_of(get_);
  if (replaces) return;
  if (operation.in == operation.out && send_.share != coll::Share::block) operation.out = nullptr;  // a scatter's root
  if (operation.in == operation.out) operation.in = nullptr;                                        // a gather's
  if (operation.in == nullptr) operation.in = nothing_;
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
    if (static_cast<int>(j) != layout_.island()) there += seal_bytes(), back += seal_bytes();
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
      copy_bytes(leaving + cursors_[j], at, bytes);
      cursors_[j] += bytes;
      at += bytes;
    }
  for (std::size_t j = 0; j < islands && seal_bytes() > 0; ++j) {
    const std::uint64_t seal = seal_of_leaving(j);
    if (static_cast<int>(j) != layout_.island()) std::memcpy(leaving + cursors_[j], &seal, sizeof seal);
  }
  operation.in = leaving;
  operation.out = arrived_.need(back_all);
  operation.in_blocks = leaves_.blocks();
  operation.out_blocks = comes_.blocks();
}

/// Sorts by receiver: each island's message holds, sender by sender, a block for each member here.
bool Exchange::arrived(std::size_t) {
  std::size_t comes = 0;
  cursors_.assign(members_, 0);
  for (std::size_t m = 0; m < members_; ++m) {
    cursors_[m] = comes;
    comes += sum(gets(m), remote_.size());
  }
  std::byte* sorted = sorted_.need(comes);
  const std::byte* at = arrived_.data();
  for (std::size_t j = 0; j + 1 < begins_.size(); ++j) {
    for (std::size_t k = begins_[j]; k < begins_[j + 1]; ++k)
      for (std::size_t m = 0; m < members_; ++m) {
        const std::size_t bytes = gets(m)[k];
        copy_bytes(sorted + cursors_[m], at, bytes);
        cursors_[m] += bytes;
        at += bytes;
      }
    if (seal_bytes() == 0 || static_cast<int>(j) == layout_.island()) continue;
    std::uint64_t seal = 0;
    std::memcpy(&seal, at, sizeof seal);
    if (seal != seal_of_arriving(j)) return false;
    at += sizeof seal;
  }
  return true;
}

std::uint64_t Exchange::seal_of_leaving(std::size_t island) const {
  std::uint64_t seal = kFnvBegins;
  for (std::size_t m = 0; m < members_; ++m)
    for (std::size_t k = begins_[island]; k < begins_[island + 1]; ++k) seal = fnv1a(seal, sends(m)[k]);
  return seal;
}

std::uint64_t Exchange::seal_of_arriving(std::size_t island) const {
  std::uint64_t seal = kFnvBegins;
  for (std::size_t k = begins_[island]; k < begins_[island + 1]; ++k)
    for (std::size_t m = 0; m < members_; ++m) seal = fnv1a(seal, gets(m)[k]);
  return seal;
}

void Exchange::finish() {
  const std::byte* at = sorted_.data();
  for (std::size_t k = 0; k < remote_.size(); ++k) {
    const std::size_t bytes = gets(me_)[k];
    if (bytes == 0) continue;
    copy_bytes(from(remote_[k]), at, bytes);
    at += bytes;
  }
}

bool Exchange::fill_direct(coll::Operation& operation) {
  if (!may_have_direct()) return false;
  const auto size = static_cast<std::size_t>(layout_.size);
  std::size_t leaves = 0, comes = 0;
  direct_in_.reset(size);
  direct_out_.reset(size);
  for (const int rank : remote_) {
    const auto r = static_cast<std::size_t>(rank);
    if (to_bytes(rank) > limit_) leaves += put_block(direct_in_, r, send_, rank);
    if (from_bytes(rank) > limit_) comes += put_block(direct_out_, r, get_, rank);
  }
  if (leaves + comes == 0) return false;
  operation.kind = coll::Kind::alltoallv;
  // A rank that sends nothing has no buffer to send from; without an address it would be "in place".
  operation.in = leaves > 0 ? send_.data : nothing_;
  operation.out = comes > 0 ? get_.data : nothing_ + 1;
  operation.in_blocks = {direct_in_.counts.data(), direct_in_.displacements.data(), unit_of(send_)};
  operation.out_blocks = {direct_out_.counts.data(), direct_out_.displacements.data(), unit_of(get_)};
  if (leaves == 0 || send_.data != get_.data || coll::collective(operation_->kind).has_root) return true;
  std::byte* const copies = direct_.need(leaves);
  std::int64_t at = 0;
  for (const int rank : remote_) {
    const auto r = static_cast<std::size_t>(rank);
    if (to_bytes(rank) <= limit_) continue;
    copy_bytes(copies + static_cast<std::size_t>(at) * operation.in_blocks.unit, to(rank), to_bytes(rank));
    direct_in_.displacements[r] = at;
    at += direct_in_.counts[r];
  }
  operation.in = copies;
  return true;
}

}  // namespace sumac::team
