// The ucx backend's messages that UCX sends from memory of its user, or receives there. What cannot be placed comes whole.
#include <poll.h>

#include <cassert>

#include "net/tcp_frame.hpp"
#include "net/ucx_transport.hpp"

namespace sumac::net {

// ---- sending

bool UcxTransport::lends(const UcxConnection& conn, const Payload& body, std::size_t bytes) const noexcept {
  return config_.place_from != 0 && bytes >= config_.place_from && !body.owner && conn.open;
}

std::size_t UcxTransport::unsent(ConnId id) const {
  const UcxConnection* conn = table_.find(id);
  return conn == nullptr ? 0 : conn->unsent_bytes;
}

/// UCX may finish messages in another order, but unsent() counts from the first unfinished one on.
void UcxTransport::count_sent(UcxConnection& conn, std::uint32_t sequence) {
  conn.unsent[sequence - conn.first_unsent].second = true;
  for (; !conn.unsent.empty() && conn.unsent.front().second; ++conn.first_unsent) {
    conn.unsent_bytes -= conn.unsent.front().first;
    conn.unsent.pop_front();
  }
}

// ---- receiving

/// Returns what UCX is to be answered; nothing if the message comes whole, as others do. Bytes that UCX has received are
/// copied at once, because they are gone when this returns.
std::optional<ucs_status_t> UcxTransport::arrived_long(UcxConnection& conn, std::uint32_t sequence, UcxArrival& at,
                                                       std::span<const std::byte> head, void* data, std::size_t length,
                                                       bool rendezvous) {
  if (config_.place_from == 0 || head.size() != kPlaceHead || head.size() + length < config_.place_from) return {};
  BufferRef frame = make_frame(head, 0);
  if (!frame) return {};
  if (rendezvous) {
    at = {.state = UcxArrival::State::offered, .frame = std::move(frame), .data = data, .body_bytes = length};
    offered_.push_back(conn.id);
    return UCS_INPROGRESS;
  }
  const bool is_next = sequence == conn.next_in && events_.empty();
  if (receiver_ == nullptr || !is_next) return {};
  const auto to = receiver_->on_head(conn.id, head.first<kPlaceHead>(), head.size() + length);
  if (to.size() != length) return {};
  std::memcpy(to.data(), data, length);
  conn.placing = to;
  at = {.state = UcxArrival::State::complete, .is_placed = true, .frame = std::move(frame)};
  hand_over(conn);
  return UCS_OK;
}

/// Receives the offered messages before which everything is delivered. Returns false if there is none.
bool UcxTransport::place_offered(TransportEvents& events) {
  return std::erase_if(offered_, [&](ConnId id) {
           UcxConnection* conn = table_.find(id);
           if (conn == nullptr || conn->dead || conn->disowned) return true;
           if (!events_.empty() || conn->arrivals.front().state != UcxArrival::State::offered) return false;
           UcxArrival& at = conn->arrivals.front();
           at.state = UcxArrival::State::receiving;
           void* data = std::exchange(at.data, nullptr);
           const auto head = at.frame.bytes();
           const auto to = events.on_head(id, head.first<kPlaceHead>(), head.size() + at.body_bytes);
           if (to.size() == at.body_bytes) {
             conn->placing = to;
             ++conn->lent;
             fetch({this, id, conn->next_in, std::move(at.frame), true}, to, data);
           } else if (BufferRef frame = make_frame(head, at.body_bytes); frame) {
             fetch(*conn, conn->next_in, std::move(frame), head.size(), data);
           } else if (!hold(*conn, {id, conn->next_in, {head.begin(), head.end()}, data, true, at.body_bytes, {}})) {
             ucx().ucp_am_data_release(worker_.get(), data);
           }
           return true;
         }) > 0;
}

void UcxTransport::forget_offered(UcxConnection& conn) {
  for (UcxArrival& at : conn.arrivals)
    if (at.data != nullptr) ucx().ucp_am_data_release(worker_.get(), std::exchange(at.data, nullptr));
}

// ---- the end of a loan

/// UCX has finished with memory of our user.
void UcxTransport::give_back(UcxConnection& conn) {
  if (--conn.lent == 0 && conn.dead) events_.note(Kind::closed, conn.id);
}

/// Waits until UCX uses no memory that is lent to this connection. A peer that does not take its messages for too long
/// loses the connection, since UCX gives the memory back only then.
void UcxTransport::take_back(UcxConnection& conn) {
  const Time until = deadline_after(monotonic_now(), config_.linger);
  while (conn.lent > 0) {
    if (!conn.dead && monotonic_now() >= until) {
      // A tcp connection of UCX's stands until both ends have closed, so the peer would not notice.
      (void)say(conn, UcxKind::gone);
      end(conn, Errc::timeout, "it did not take a message whose memory is needed");
    }
    if (ucx().ucp_worker_progress(worker_.get()) > 0) continue;
    if (!failed_.empty()) take_failures();
    close_endpoints();
    pollfd wake{wake_fd_, POLLIN, 0};
    if (conn.lent > 0 && ucx().ucp_worker_arm(worker_.get()) == UCS_OK) (void)poll(&wake, 1, 1);
  }
}

void UcxTransport::detach(ConnId id) {
  UcxConnection* conn = table_.find(id);
  if (conn == nullptr) return;
  take_back(*conn);
  auto* event = events_.placed(id);
  if (event == nullptr) return;
  // It has arrived, but its receiver does not expect it in this memory any more.
  BufferRef whole = make_frame(event->frame.bytes(), conn->placing.size());
  if (!whole) return end(*conn, Errc::exhausted, "no buffer for its messages");
  std::ranges::copy(conn->placing, whole.data() + event->frame.size());
  event->kind = Kind::message;
  event->frame = std::move(whole);
}

}  // namespace sumac::net
