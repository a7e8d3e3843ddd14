// Posts on a communicator's groups, and handles finished operations.
#include <algorithm>
#include <array>

#include "client/comm.hpp"
#include "client/reduction.hpp"

namespace sumac::client {
namespace {

/// The collective of src/coll that a kind of the statistics is.
std::uint32_t collective_of(std::size_t kind) {
  switch (kind) {
    case SUMAC_STATS_ALLREDUCE: return coll::index_of(coll::Kind::allreduce);
    case SUMAC_STATS_REDUCE: return coll::index_of(coll::Kind::reduce);
    case SUMAC_STATS_BCAST: return coll::index_of(coll::Kind::bcast);
    case SUMAC_STATS_REDUCE_SCATTER: return coll::index_of(coll::Kind::reduce_scatter);
    case SUMAC_STATS_ALLGATHER: return coll::index_of(coll::Kind::allgather);
    default: return coll::index_of(coll::Kind::barrier);
  }
}

std::size_t kind_of(wire::Coll coll) {
  switch (coll) {
    case wire::Coll::allreduce: return SUMAC_STATS_ALLREDUCE;
    case wire::Coll::reduce: return SUMAC_STATS_REDUCE;
    case wire::Coll::bcast: return SUMAC_STATS_BCAST;
    case wire::Coll::reduce_scatter: return SUMAC_STATS_REDUCE_SCATTER;
    case wire::Coll::allgather: return SUMAC_STATS_ALLGATHER;
    default: return SUMAC_STATS_BARRIER;
  }
}

}  // namespace

Outcome<Request*> Comm::post_barrier() {
  proto::Operation operation;
  operation.coll = wire::Coll::barrier;
  return post(operation, nullptr, SUMAC_STATS_BARRIER, 0);
}

Outcome<Request*> Comm::post(Reduction reduction) {
  const auto bytes = reduction.operation.src.size();
  reduction.operation.reproducible = context_.job().reproducible();
  return post(reduction.operation, std::move(reduction.staging), kind_of(reduction.operation.coll), bytes);
}

Outcome<Request*> Comm::post(proto::Operation& operation, std::unique_ptr<Staging> staging, std::size_t kind,
                             std::uint64_t bytes) {
  if (is_leaving_) return failure(SHARP_COLL_EINVAL, "the group was left already");
  Request* request = context_.take_request();
  if (request == nullptr)
    return failure(SHARP_COLL_ENO_RESOURCE, "too many requests in this process: free completed ones");
  operation.token = reinterpret_cast<std::uint64_t>(request->handle());
  if (channels_.size() == 1) cut_finely(operation, channels_.front());
  auto fragments = fragments_of(operation, shape_);
  const bool corks = fragments > 1;  // Decided once, because stripes turn it into more fragments.
  if (corks) context_.cork();
  Errc posted = Errc::ok;
  if (channels_.size() == 1) {
    if (const auto done = channels_.front().group.post(operation, monotonic_now()); !done) posted = done.error();
  } else if (const auto done = post_striped(operation, *request)) {
    fragments = *done;
  } else {
    posted = done.error();
  }
  if (corks) context_.uncork();
  if (posted != Errc::ok) {
    context_.drop_request(*request);
    switch (posted) {
      case Errc::again:
        return failure(SHARP_COLL_ENO_RESOURCE, "{} operations are outstanding: complete some first",
                       proto::kOperationsMax);
      case Errc::unsupported: return failure(SHARP_COLL_ENOT_SUPP, "the group can't do it");
      case Errc::verdict:
      case Errc::lost:
      case Errc::refused: return failure(SHARP_COLL_ERROR, "{}", end() ? *end() : std::string("the group has ended"));
      default: return failure(SHARP_COLL_EINVAL, "operation refused: {}", to_string(posted));
    }
  }
  request->comm = this;
  request->kind = static_cast<std::uint8_t>(kind);
  request->streamed = operation.streaming;
  request->fragments = fragments;
  request->bytes = bytes;
  request->staging = std::move(staging);
  if (operation.ready_until != nullptr) copying_.push_back(request);
  ++context_.counts(kind).posted;
  if (auto* track = recorded_.memory()) recorder::begin(*track, collective_of(kind) | recorder::kPosted, bytes);
  context_.watch(*this);
  return request;
}

/// Blocks of an allgather already go in rotation. The size depends only on facts that all members know: the operation,
/// the job, the groups' answer in Joined.
void Comm::cut_finely(proto::Operation& operation, const Channel& channel) const {
  if (!operation.streaming || operation.block != 0) return;
  operation.chunk = chunk_of(channel.chunks, operation.count * element_bytes_of(operation), shape_.chunk_bytes);
}

/// Posts all stripes or none: every reason for which a group could refuse is checked for all groups first. Returns the
/// number of fragments.
tl::expected<std::uint64_t, Errc> Comm::post_striped(const proto::Operation& operation, Request& request) {
  if (end()) return tl::unexpected(Errc::lost);
  if (!has_room()) return tl::unexpected(Errc::again);
  const auto element = element_bytes_of(operation);
  if (operation.coll != wire::Coll::barrier &&
      (element == 0 || element > shape_.payload_per_ost || (operation.streaming && element > shape_.chunk_bytes)))
    return tl::unexpected(Errc::unsupported);
  std::array<Stripe, kChannelsMax> stripes;
  std::uint32_t turn = turn_;
  std::uint64_t fragments = 0;
  const auto count = cut_into_stripes(rule_, operation, element, turn, stripes);
  for (std::size_t i = 0; i < count; ++i) {
    // Each member begins with another stripe: all stripes of one tree at once would wait for its node's link while the
    // others' links are idle.
    const auto& stripe = stripes[(i + rank_) % count];
    auto& group = channels_[stripe.channel].group;
    auto part = count == 1 ? operation : part_of(operation, element, stripe.elements);
    cut_finely(part, channels_[stripe.channel]);
    if (const auto posted = group.post(part, monotonic_now()); !posted) return tl::unexpected(posted.error());
    fragments += fragments_of(part, group.shape());
  }
  turn_ = turn;
  request.parts = static_cast<std::uint16_t>(count);
  in_order_[in_order_tail_++ % proto::kOperationsMax] = &request;
  return fragments;
}

bool Comm::refuse() {
  if (is_leaving_ || end()) return true;  // No operation waits in it.
  if (!has_room()) return false;
  proto::Operation operation;
  operation.coll = wire::Coll::refusal;  // It belongs to no request, so nobody waits for its end.
  // A group that has ended accepts nothing, and reports the reason itself.
  for (auto& channel : channels_) static_cast<void>(channel.group.post(operation, monotonic_now()));
  context_.watch(*this);
  return true;
}

/// Operations from GPU memory continue as far as their data has been copied.
void Comm::advance_copies() {
  if (copying_.empty()) return;
  context_.busy();
  std::erase_if(copying_, [&](Request* request) {
    auto arrived = request->staging->cuda->advance();
    if (arrived) return *arrived;
    SUMAC_ERROR(context_.log(), "{}", arrived.error().text);
    for (auto& channel : channels_) channel.group.give_up(monotonic_now());
    return true;
  });
  for (auto& channel : channels_) channel.group.wake(monotonic_now());
}

void Comm::complete(Request& request, int status) {
  if (auto* track = recorded_.memory()) recorder::end(*track);
  std::erase(copying_, &request);
  if (status == SHARP_COLL_SUCCESS && request.staging) {
    if (auto scattered = scatter(*request.staging); !scattered) {
      SUMAC_ERROR(context_.log(), "{}", scattered.error().text);
      return context_.finish(request, scattered.error().status,
                             std::make_shared<const std::string>(scattered.error().text));
    }
  }
  const bool has_ended = status != SHARP_COLL_SUCCESS && status != SHARP_COLL_ELOCK_FAILED;
  if (has_ended && context_.config().on_failure == OnFailure::abort) abort_process();
  context_.finish(request, status, has_ended ? end_ : nullptr);
}

void Comm::take(Channel& channel, const proto::Completion& over) {
  Request* request = request_table().find(reinterpret_cast<void*>(over.token));
  const bool lacks_lock = over.status == Errc::again;
  int status = over.status == Errc::ok ? SHARP_COLL_SUCCESS : lacks_lock ? SHARP_COLL_ELOCK_FAILED : SHARP_COLL_ERROR;
  if (request != nullptr && request->streamed && !over.streamed && (lacks_lock || status == SHARP_COLL_SUCCESS)) {
    request->streamed = false;
    if (channel.group.shape().stream_window != 0) tell_of_lock();
  }
  if (status != SHARP_COLL_SUCCESS && !lacks_lock) {
    // A failed operation's buffers go back to the user, who may free them, so queued messages must not read them any
    // more.
    context_.forget_borrowed();
    end_by(channel);
  }
  if (request == nullptr) return;
  context_.ways().count(!over.among_members);
  request->by_hop = over.by_hop;
  if (!in_order_.empty()) {
    --request->parts;
    if (status != SHARP_COLL_SUCCESS) request->status = status;
    return;
  }
  complete(*request, status);
}

/// The verdict that follows ends the operations of all members.
void Comm::look_at_limit(bool has_moved) {
  const Time now = monotonic_now();
  if (has_moved || waits_since_ == Time{}) waits_since_ = outstanding() > 0 ? now : Time{};
  if (waits_since_ == Time{} || now - waits_since_ <= context_.config().timeout || !late_.empty()) return;
  late_ = fmt::format("timed out after {} ms at rank {}: ", context_.config().timeout.count(), rank_);
  SUMAC_ERROR(context_.log(), "SUMAC_TIMEOUT: {}the communicator ends for all members", late_);
  for (auto& channel : channels_) channel.group.give_up(monotonic_now());
}

bool Comm::drain() {
  advance_copies();
  bool has_moved = false;
  for (auto& channel : channels_)
    for (; auto over = channel.group.next_completion(); has_moved = true) take(channel, *over);
  if (context_.config().timeout.count() > 0) look_at_limit(has_moved);
  for (; in_order_head_ != in_order_tail_; ++in_order_head_) {
    Request& request = *in_order_[in_order_head_ % proto::kOperationsMax];
    if (request.parts > 0) break;
    complete(request, request.status);
  }
  if (is_leaving_ && has_left() && leave_request_ != nullptr)
    context_.finish(*std::exchange(leave_request_, nullptr), SHARP_COLL_SUCCESS, nullptr);
  return outstanding() > 0 || (is_leaving_ && !has_left());
}

}  // namespace sumac::client
