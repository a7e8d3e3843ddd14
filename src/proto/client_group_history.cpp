// A member's group keeps data for a caller that goes on without the tree. A result stays in the buffer in which it came, in the slot of
// its number: when that slot is used again, two windows later, no member needs the number any more.
#include <cstring>

#include "proto/client_group.hpp"
#include "proto/recovery_rule.hpp"

namespace sumac::proto {

void ClientGroup::retain() {
  retains_ = true;
  if (shape_.stream_window != 0)  // A source's chunks are copied, and come back in no frame.
    copies_ = BufferPool(kCopiesMax + ring_.size() * BufferPool::footprint(shape_.chunk_bytes));
}

/// Two windows of the same stream follow the number. So the operation is under way for as long as another member may need it, and its
/// result is where the operation wants it, or is this member's part.
bool ClientGroup::stays_with_user(const Record& record, const Entry& at) const noexcept {
  const Operation& operation = record.operation;
  if (!operation.streaming || operation.block != 0) return false;
  const std::uint64_t end = at.header.first + at.elements;
  const std::uint64_t two_windows = std::uint64_t{2} * shape_.window() * record.per_fragment;
  if (operation.count - end < two_windows && recovery::keeps(recovery::Rule::chunk_stays_two_windows)) return false;
  if (wire::has_one_source(at.header) && at.header.payload_bytes != 0) return true;
  return at.header.first >= operation.keep.from && end <= operation.keep.to;
}

/// The data did not come in a buffer of their own, or not as the whole result: they are copied from the user's memory.
void ClientGroup::keep_copy(Entry& at, const BufferRef& frame) {
  if (at.kept) return;  // They were copied when they were sent.
  const Operation& operation = record_of(at).operation;
  const std::size_t bytes = std::size_t{at.elements} * at.element;
  std::span<const std::byte> from = data_of(at).bytes;
  if (adds_its_part(at.header)) {
    from = operation.dst.subspan((at.header.first - operation.keep.from) * at.element, bytes);
  } else if (!prompt(at.header) && bytes != 0 && frame.size() == wire::kAggHeaderBytes + bytes) {
    at.kept = frame;  // A prompt reduce is excluded: its result lacks the root's own part.
    return;
  }
  if (from.empty()) return;
  at.kept = copies_.acquire(from.size());
  lacks_memory_ = lacks_memory_ || !at.kept;
  if (at.kept) std::memcpy(at.kept.data(), from.data(), from.size());
}

void ClientGroup::release() noexcept {
  if (!std::exchange(retains_, false)) return;
  for (Entry& each : ring_) each.kept.reset();
}

std::size_t ClientGroup::bytes_kept() const noexcept {
  std::size_t bytes = 0;
  for (const Entry& each : ring_) bytes += each.kept.footprint();
  return bytes;
}

ClientHistory ClientGroup::history() const {
  ClientHistory all;
  all.closed = sent_ - seq_count(closed_, next_);
  all.first = all.closed - std::min<std::uint64_t>(all.closed, shape_.window());
  all.lacks_memory = lacks_memory_;
  all.lock = lock_;
  for (auto left = static_cast<std::uint32_t>(sent_ - all.first); left > 0; --left) {
    const Sequence number = seq_next(next_, -left);
    const Entry& at = entry(number);
    const bool is_complete = seq_before(number, done_);
    const std::size_t bytes = std::size_t{at.elements} * at.element;
    auto& one = all.numbers.emplace_back();
    one.header = at.header;
    one.header.flags &= static_cast<std::uint16_t>(~wire::kFlagDatagrams);  // These belong to the tree.
    one.header.closed = {};
    if (adds_its_part(at.header)) one.header.payload_bytes = static_cast<std::uint32_t>(bytes);
    one.range = {at.header.first, at.elements};
    one.of = {at.record};
    one.root = at.root;
    const bool is_own = (wire::has_one_source(at.header) && at.header.payload_bytes != 0) || adds_its_part(at.header);
    const Record& record = records_[at.record % kOperationsMax];
    const Operation& operation = record.operation;
    const bool is_under_way = !at.is_ours && at.record - finished_ < tail_ - finished_;
    const bool stays = is_complete && is_under_way && !at.kept && bytes != 0 && stays_with_user(record, at);
    one.has_result = is_complete && (is_own || stays || at.kept.size() == bytes + wire::kAggHeaderBytes || bytes == 0);
    one.is_kept = static_cast<bool>(at.kept);
    if (at.kept) {
      one.data = std::span<const std::byte>(at.kept.bytes()).last(bytes);
    } else if (stays && !is_own) {
      one.data = operation.dst.subspan((at.header.first - operation.keep.from) * at.element, bytes);
    } else if ((stays || !is_complete) && one.header.payload_bytes != 0) {
      one.data =
          operation.src.subspan((at.header.first - std::min(at.header.first, operation.give.from)) * at.element, bytes);
    }
  }
  all.first_operation = {head_};
  all.cut = {cut_};
  for (auto id = head_; id != tail_; ++id) {
    const Record& record = records_[id % kOperationsMax];
    all.operations.push_back({record, record.status, id - head_ < finished_ - head_, record.ends_batch});
  }
  return all;
}

}  // namespace sumac::proto
