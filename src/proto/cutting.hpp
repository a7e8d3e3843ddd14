#pragma once
// This header belongs to src/proto alone: it cuts an operation into fragments, by plain arithmetic.
#include <cstring>

#include "coll/cut.hpp"
#include "proto/operation_rules.hpp"
#include "wire/datagram.hpp"

namespace sumac::proto {

/// An operation that is being cut.
struct Cutting {
  Operation operation{};
  std::uint32_t element = 0, per_fragment = 0, window = 0;
  std::uint64_t sent = 0;  ///< Elements sent so far.
};

/// The range of one fragment: its first element and its number of elements.
struct FragmentRange {
  std::uint64_t first;
  std::uint32_t elements;
};

inline void plan(Cutting& cutting, const GroupShape& shape) noexcept {
  const bool streams = cutting.operation.streaming;
  cutting.window = streams ? shape.stream_window : shape.osts;
  if (has_no_data(cutting.operation.coll)) return;
  cutting.element = static_cast<std::uint32_t>(wire::element_of(cutting.operation));
  cutting.per_fragment = fragment_bytes(cutting.operation, shape) / cutting.element;
}

/// The lock was denied to the operation: it goes in fragments, or fails. Returns how it ends.
inline Errc go_without_lock(Cutting& cutting, const GroupShape& shape) noexcept {
  const bool must_stream = cutting.operation.must_stream;
  if (must_stream) cutting.operation = Operation{.coll = wire::Coll::barrier, .token = cutting.operation.token};
  cutting.operation.streaming = false;
  plan(cutting, shape);
  return must_stream ? Errc::again : Errc::ok;
}

/// Whole blocks of all members (allgather) are sent round by round, one fragment of each block per round: if one block
/// followed the other, only one member's link upwards would work at a time, while its own link downwards stood idle.
inline FragmentRange next_fragment(const Cutting& cutting) noexcept {
  const Operation& operation = cutting.operation;
  const std::uint64_t per = cutting.per_fragment, count = operation.count, block = operation.block, sent = cutting.sent;
  if (block == 0) return {sent, static_cast<std::uint32_t>(coll::part_at(sent, count, per))};
  if (operation.first_block == 0 && count % block == 0) {
    const coll::Cut rounds = coll::cut(block, {.most = per});
    const std::uint64_t blocks = count / block, round = sent / (blocks * rounds.step);
    const std::uint64_t elements = rounds.size(round);  // Fragments of the last round are shorter.
    const std::uint64_t whose = (sent - blocks * rounds.from(round)) / elements;
    return {whose * block + rounds.from(round), static_cast<std::uint32_t>(elements)};
  }
  // The first or the last block of this window is cut, so fragments follow the order of elements, each up to the next
  // block's edge.
  const std::uint64_t edge = sent < operation.first_block
                                 ? operation.first_block
                                 : operation.first_block + ((sent - operation.first_block) / block + 1) * block;
  return {sent, static_cast<std::uint32_t>(std::min({per, count - sent, edge - sent}))};
}

/// Returns whether the data that this member contributes to the fragment are ready.
inline bool is_ready(const Cutting& cutting, const FragmentRange& range) noexcept {
  const Operation& operation = cutting.operation;
  if (operation.ready_until == nullptr) return true;
  if (!operation.give.covers(range.first)) return true;
  const std::uint64_t end = range.first + range.elements - operation.give.from;
  return operation.src.data() + end * cutting.element <= *operation.ready_until;
}

/// Writes the fragment's fields into the header.
inline void describe_fragment(const Cutting& cutting, const FragmentRange& range, wire::AggHeader& h) noexcept {
  const Operation& operation = cutting.operation;
  if (has_no_data(operation.coll)) {
    h.flags |= wire::kFlagFirst | wire::kFlagLast;
    return;
  }
  h.op = operation.op;
  h.dtype = operation.dtype;
  h.tag_dtype = operation.tag_dtype;
  h.meaning = operation.meaning;
  h.count = operation.count;
  h.first = range.first;
  if (operation.coll == wire::Coll::reduce || operation.coll == wire::Coll::bcast)
    h.root = static_cast<std::uint16_t>(operation.root);
  if (operation.give.covers(h.first)) h.payload_bytes = range.elements * cutting.element;
  if (h.first == 0) h.flags |= wire::kFlagFirst;
  if (h.first + range.elements == h.count) h.flags |= wire::kFlagLast;
  if (operation.streaming) h.flags |= wire::kFlagStreaming;
  if (operation.reproducible && wire::order_matters(h)) h.flags |= wire::kFlagReproducible;
}

/// Writes what the operation keeps of the fragment whose result `source` is.
inline void write_kept(const Cutting& cutting, std::uint64_t first, std::uint32_t elements,
                       const std::byte* source) noexcept {
  const Operation& operation = cutting.operation;
  const std::uint64_t from = std::max(first, operation.keep.from);
  const std::uint64_t to = std::min(first + elements, operation.keep.to);
  if (from >= to || source == nullptr) return;
  std::memmove(operation.dst.data() + (from - operation.keep.from) * cutting.element,
               source + (from - first) * cutting.element, (to - from) * cutting.element);
}

/// Returns whether this member should listen for the fragment's multicast. It should not where the data are its own,
/// which do not come back on the link either.
inline bool listens_to(const Cutting& cutting, const FragmentRange& range, const wire::AggHeader& h) noexcept {
  if (wire::has_one_source(h) && h.payload_bytes != 0) return false;
  return wire::fits_multicast(h, std::uint64_t{range.elements} * cutting.element);
}

}  // namespace sumac::proto
