// What a group keeps of its node's memory, for the windows of its numbers.
#include <algorithm>
#include <utility>

#include "proto/node_group.hpp"

namespace sumac::proto {

std::size_t NodeGroup::bytes(std::uint32_t osts, std::uint32_t stream_window) noexcept {
  return sizeof(NodeGroup) + ring_size(osts, stream_window) * sizeof(Slot) + kChildrenMax * sizeof(Child);
}

/// Reserved before the group stands, as OSTs are: what a node has promised it can always hold, so it never waits in mid-operation.
NodeGroup::Windows NodeGroup::reserve_memory(Windows wish, std::uint32_t payload, std::uint32_t chunk,
                                             bool reproducible) noexcept {
  release_memory();
  const auto fits = [](std::uint32_t window, std::size_t each, std::size_t left) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(window, left / each));
  };
  const auto& limits = ctx_.config.limits;
  const std::uint32_t sums = reproducible ? sums_max(expected_, group_size_) : 1;
  const std::size_t of_ost = number_bytes(payload, sums), of_chunk = number_bytes(chunk, sums);
  Windows got;
  got.osts = fits(wish.osts, of_ost, limits.window_bytes - ctx_.stats.window_bytes);
  window_bytes_ = got.osts * of_ost;
  const std::size_t left = limits.window_bytes - ctx_.stats.window_bytes - window_bytes_;
  got.stream = fits(wish.stream, of_chunk, std::min(left, limits.stream_bytes - ctx_.stream_bytes));
  stream_bytes_ = got.stream * of_chunk;
  window_bytes_ += stream_bytes_;
  ctx_.stats.window_bytes += window_bytes_;
  ctx_.stream_bytes += stream_bytes_;
  return got;
}

void NodeGroup::release_memory() noexcept {
  ctx_.stats.window_bytes -= std::exchange(window_bytes_, 0);
  ctx_.stream_bytes -= std::exchange(stream_bytes_, 0);
}

/// With the last join: as far as there is memory. False: not for a single OST.
bool NodeGroup::reserve_windows(const wire::JoinBody& last) {
  const auto got = reserve_memory(
      {reserved_, std::min(shape_.stream_window, last.stream_window)}, std::min(shape_.payload_max, last.payload_max),
      std::min(shape_.chunk_max, last.chunk_max), below_.reproducible && pending_able_.reproducible);
  if (got.osts == 0) return false;
  ctx_.jobs.give_back(job_id_, reserved_ - got.osts);
  reserved_ = got.osts;
  shape_.stream_window = got.stream;
  return true;
}

}  // namespace sumac::proto
