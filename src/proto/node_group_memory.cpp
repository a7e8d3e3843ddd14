// A group reserves memory of its node for the windows of its numbers.
#include <algorithm>
#include <utility>

#include "proto/node_group.hpp"

namespace sumac::proto {

std::size_t NodeGroup::bytes(std::uint32_t osts, std::uint32_t stream_window) noexcept {
  return sizeof(NodeGroup) + ring_size(osts, stream_window) * sizeof(Slot) + kChildrenMax * sizeof(Child);
}

/// The memory is reserved before the group stands, as OSTs are: the node can always hold what it has promised, so it
/// never waits in the middle of an operation.
NodeGroup::Windows NodeGroup::reserve_memory(Windows request, std::uint32_t payload, std::uint32_t chunk,
                                             bool reproducible) noexcept {
  release_memory();
  if (!ctx_.leftovers.empty()) ctx_.reap();
  const auto fits = [](std::uint32_t window, std::size_t each, std::size_t left) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(window, left / each));
  };
  const auto& limits = ctx_.config.limits;
  const std::uint32_t sums = reproducible ? sums_max(expected_, group_size_) : 1;
  const std::size_t of_ost = number_bytes(payload, sums), of_chunk = number_bytes(chunk, sums);
  Windows got;
  got.osts = fits(request.osts, of_ost, limits.window_bytes - ctx_.stats.window_bytes);
  window_bytes_ = got.osts * of_ost;
  const std::size_t left = limits.window_bytes - ctx_.stats.window_bytes - window_bytes_;
  Job* job = ctx_.jobs.find(job_id_);
  std::size_t room = std::min(left, limits.stream_bytes - ctx_.stream_bytes);
  if (job != nullptr) {
    const std::size_t share = std::max(ctx_.jobs.stream_share(*job), of_chunk);  // one chunk fits in any case
    room = std::min(room, share - std::min(share, job->stream_bytes));
  }
  got.stream = fits(request.stream, of_chunk, room);
  stream_bytes_ = got.stream * of_chunk;
  if (job != nullptr) job->stream_bytes += stream_bytes_;
  window_bytes_ += stream_bytes_;
  ctx_.stats.window_bytes += window_bytes_;
  ctx_.stream_bytes += stream_bytes_;
  return got;
}

void NodeGroup::release_memory() noexcept {
  ctx_.release(job_id_, std::exchange(window_bytes_, 0), std::exchange(stream_bytes_, 0));
}

/// A member that has read the closed count c contributes at most the numbers before c + window. So no number from c +
/// window on is closed, and none from c + 2 windows on is answered: only prompt numbers can be so far ahead.
std::size_t NodeGroup::may_be_unread() const noexcept {
  return 2 * joined_.osts * BufferPool::footprint(sizeof(wire::AggHeader) + joined_.payload_per_ost) +
         joined_.stream_window * BufferPool::footprint(sizeof(wire::AggHeader) + joined_.chunk_bytes);
}

/// The group is over. Returns true when members have not read everything, so that its memory and its group slot in the
/// job stay taken for a while.
bool NodeGroup::leave_over() {
  if (slots_.empty()) return false;
  NodeContext::Leftover left{
      .job_id = job_id_, .window_bytes = window_bytes_, .stream_bytes = stream_bytes_, .unread = {}};
  for (const Child& child : children_) {
    Link* link = child.role == wire::Role::client ? ctx_.links.find(child.link) : nullptr;
    if (link == nullptr || child.closed) continue;
    if (ctx_.outbox.held(child.link) != 0)
      left.unread.push_back({child.link, may_be_unread()});
    else
      ctx_.allow(*link, 0, may_be_unread());
  }
  if (left.unread.empty()) return false;
  ctx_.leftovers.push_back(std::move(left));
  ctx_.reap_at = ctx_.due = Time{};
  window_bytes_ = stream_bytes_ = 0;
  return true;
}

/// Reserves windows when the last join has come, as far as there is memory. Returns false when not even one OST fits.
bool NodeGroup::reserve_windows(const group_life::Join& last) {
  const wire::JoinBody& body = last.body;
  const auto got =
      reserve_memory({reserved_, std::min(shape_.stream_window, body.stream_window)},
                     std::min(shape_.payload_per_ost, body.payload_per_ost),
                     std::min(shape_.chunk_bytes, body.chunk_bytes), reproducible_below_ && last.reproducible);
  if (got.osts == 0) return false;
  ctx_.jobs.give_back(job_id_, reserved_ - got.osts);
  reserved_ = got.osts;
  shape_.stream_window = got.stream;
  return true;
}

}  // namespace sumac::proto
