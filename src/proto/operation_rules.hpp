#pragma once
// This header belongs to src/proto alone: the rules that each kind of operation must obey.
#include <algorithm>

#include "proto/operation.hpp"

namespace sumac::proto {

inline Range within(Range range, std::uint64_t count) noexcept {
  return {std::min(range.from, count), std::min(range.to, count)};
}
/// Returns the operation as a group keeps it: its ranges end where the vector does, and an empty one does not stream.
inline Operation bounded(Operation operation) noexcept {
  if (operation.count == 0) operation.streaming = false;
  operation.give = within(operation.give, operation.count);
  operation.keep = within(operation.keep, operation.count);
  return operation;
}
/// The next tree of a group may have no memory for streams, and callers need not know that: the operation then goes in fragments.
inline Operation unstreamed(Operation operation) noexcept {
  operation.streaming = operation.must_stream = false;
  return operation;
}
inline bool is_kind(wire::Coll coll) noexcept { return coll >= wire::Coll::allreduce && coll <= wire::Coll::allgather; }
inline bool has_no_data(wire::Coll coll) noexcept { return coll == wire::Coll::barrier || coll == wire::Coll::refusal; }

/// Returns whether a group of this size and shape may do the operation.
inline Errc check(const Operation& operation, std::uint32_t group_size, const GroupShape& shape) noexcept {
  if (has_no_data(operation.coll)) return Errc::ok;
  const std::size_t element = wire::element_of(operation);
  if (element == 0) return is_kind(operation.coll) ? Errc::invalid : Errc::unsupported;
  const Range give = within(operation.give, operation.count), keep = within(operation.keep, operation.count);
  if (give.from > give.to || keep.from > keep.to || give.size() > operation.src.size() / element ||
      keep.size() > operation.dst.size() / element)
    return Errc::invalid;
  const bool gives_all = give.from == 0 && give.to == operation.count;
  if (!wire::has_one_source(operation) && !gives_all) return Errc::invalid;
  if (operation.coll == wire::Coll::allgather && !gives_all) {
    // A member gives whole blocks: otherwise a fragment would mix its data with those of another member.
    const auto is_edge = [&](std::uint64_t at) {
      return at == 0 || at == operation.count ||
             (operation.block != 0 && at >= operation.first_block &&
              (at - operation.first_block) % operation.block == 0);
    };
    if (give.size() != 0 && (!is_edge(give.from) || !is_edge(give.to))) return Errc::invalid;
  }
  if (operation.root >= group_size) return Errc::invalid;
  if (operation.reproducible && !shape.reproducible && wire::order_matters(operation)) return Errc::unsupported;
  if (operation.streaming && (shape.stream_window == 0 || shape.chunk_bytes < element)) return Errc::unsupported;
  return shape.payload_per_ost < element ? Errc::unsupported : Errc::ok;
}

/// Returns whether such a group can exist.
inline Result<> check(const ClientGroupConfig& config) {
  if (config.job_id == JobId{} || config.group_id == GroupId{})
    return fail(Errc::invalid, "group: job {} and group {} must not be 0", config.job_id, config.group_id);
  if (config.group_size == 0 || config.rank >= config.group_size)
    return fail(Errc::invalid, "group: rank {} of {} members", config.rank, config.group_size);
  if (config.path.length == 0 || config.path.length > wire::kPathMax)
    return fail(Errc::invalid, "group: a path of {} nodes; 1 to {} are possible", config.path.length, wire::kPathMax);
  if (config.osts == 0 || config.payload_per_ost == 0 || config.payload_per_ost > wire::kPayloadMax ||
      config.chunk_bytes > wire::kPayloadMax)
    return fail(Errc::invalid, "group: {} OSTs of {} bytes, chunk {}: out of range", config.osts,
                config.payload_per_ost, config.chunk_bytes);
  if (config.pipeline_depth == 0) return fail(Errc::invalid, "group: pipeline depth is 0");
  return {};
}

}  // namespace sumac::proto
