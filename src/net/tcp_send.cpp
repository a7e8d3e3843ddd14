// The sending half of the tcp backend and its timing: due times, and peers that were silent for too long.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cassert>
#include <utility>

#include "net/tcp_socket.hpp"
#include "net/tcp_transport.hpp"

namespace sumac::net {
void TcpTransport::mark_dirty(TcpConnection& conn) {
  if (conn.dirty) return;
  conn.dirty = true;
  dirty_.push_back(conn.id);
}

Errc TcpTransport::send(ConnId id, std::span<const std::byte> head, const Payload& body) {
  return send(id, head, body, false);
}

Errc TcpTransport::send_in_row(ConnId id, std::span<const std::byte> head, const Payload& body) {
  return send(id, head, body, true);
}

/// The caller looks for messages: it may wait for what a message that is kept brings about.
void TcpTransport::end_rows() {
  for (const ConnId id : rows_)
    if (TcpConnection* conn = find(id); conn != nullptr && conn->fd) {
      conn->is_in_row = false;
      conn->end_row();
    }
  rows_.clear();
}

Errc TcpTransport::send(ConnId id, std::span<const std::byte> head, const Payload& body, bool in_row) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || conn->is_disowned() || tcp_life::is_over(conn->life)) return Errc::lost;
  const std::size_t bytes = head.size() + body.bytes.size();
  if (head.size() > kHeadMax || bytes > conn->send_max) return Errc::invalid;
  if (!conn->out.empty() && conn->out.bytes() + bytes > config_.queue_max) {
    conn->tell_writable = true;
    return Errc::again;
  }
  if (!conn->out.empty() && body.owner && conn->out.held() + OutQueue::held_by(body) > conn->held_max)
    return Errc::exhausted;
  ++stats_.messages_out;
  conn->heartbeat.spoke = true;
  const auto frame = encode_frame_header(FrameType::data, static_cast<std::uint32_t>(bytes));
  // Messages may follow our greeting at once, without waiting for the peer's answer.
  const bool connected = !tcp_life::is_connecting(conn->life);
  if (connected && corked_ == 0 && conn->out.empty()) {
    const auto sent = conn->send_now(frame, head, body, stats_, in_row);
    if (conn->row.holds() && !std::exchange(conn->is_in_row, true)) rows_.push_back(id);
    if (sent == TcpConnection::Sent::failed) return write_failed(*conn), Errc::lost;
    if (sent == TcpConnection::Sent::some) arm_output(*conn, true);
    return Errc::ok;
  }
  conn->out.push(frame, head, body, 0);
  // While EPOLLOUT is armed the socket is full, and before the connection is established nothing can be written.
  if (connected && !conn->out_armed) mark_dirty(*conn);
  return Errc::ok;
}

/// The peer takes nothing any more. Its last messages may lie unread in the socket and say why, so they are read first;
/// the end of the stream, which is behind them, then ends the connection.
void TcpTransport::write_failed(TcpConnection& conn) {
  if (conn.is_disowned() || !conn.is_read() || !conn.has_unread_input())
    return fail_with(conn, std::move(conn.failure));
  conn.out.clear();
  arm_output(conn, false);
}

void TcpTransport::flush(TcpConnection& conn) {
  const auto sent = conn.flush(stats_);
  if (sent == TcpConnection::Sent::failed) return write_failed(conn);
  arm_output(conn, sent == TcpConnection::Sent::some);
  if (tcp_life::is_over(conn.life)) return;
  if (conn.out.empty()) conn.pong_owed = false;
  if (conn.input == tcp_input::State::muted && conn.out.count() <= config_.answers_max / 2) {
    step<tcp_input::Event::answers_taken>(conn);
    if (tcp_life::is_over(conn.life)) return;
  }
  if (conn.tell_writable && conn.out.bytes() <= config_.queue_max / 2) {
    conn.tell_writable = false;
    events_.note(Kind::writable, conn.id);
  }
  if (conn.is_disowned() && conn.out.empty()) step(conn, tcp_life::AllSent{});
}

void TcpTransport::flush_dirty() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    TcpConnection* conn = find(dirty_[i]);
    if (conn == nullptr) continue;
    conn->dirty = false;
    if (!tcp_life::is_over(conn->life) && !tcp_life::is_connecting(conn->life)) flush(*conn);
  }
  dirty_.clear();
}

void TcpTransport::uncork() {
  assert(corked_ > 0 && "uncork without cork: nothing would ever be sent again");
  if (--corked_ == 0 && !dirty_.empty()) flush_dirty();
}

void TcpTransport::limit_held(ConnId id, std::size_t bytes) {
  if (TcpConnection* conn = find(id); conn != nullptr) conn->held_max = bytes;
}

std::size_t TcpTransport::held(ConnId id) const {
  const TcpConnection* conn = find(id);
  return conn == nullptr ? 0 : conn->out.held();
}

std::size_t TcpTransport::unsent(ConnId id) const {
  const TcpConnection* conn = find(id);
  return conn == nullptr ? 0 : conn->out.bytes();
}

void TcpTransport::detach(ConnId id) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || tcp_life::is_over(conn->life)) return;
  conn->out.detach();
  if (!conn->reader.displace()) fail_with(*conn, {Errc::exhausted, conn->reader.flaw()});
}

void TcpTransport::close(ConnId id, bool flush) {
  TcpConnection* conn = find(id);
  if (conn == nullptr) return;
  // If the memory of a message that has begun can't be taken back, the connection can't be read on.
  const bool can_flush = flush && conn->reader.displace();
  step(*conn, tcp_life::Closed{monotonic_now(), can_flush, conn->out.empty()});
}

Errc TcpTransport::watch(ConnId id, Millis every, Millis silent_after) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || tcp_life::is_over(conn->life)) return Errc::lost;
  if (every.count() < 0 || silent_after.count() < 0) return Errc::invalid;
  beats_.set(conn->heartbeat, every, silent_after, monotonic_now());
  due_by(beats_.next());
  return Errc::ok;
}

Duration TcpTransport::silence(ConnId id) const {
  const TcpConnection* conn = find(id);
  const bool is_silent = conn != nullptr && conn->heartbeat.silence.count() > 0 && !conn->heartbeat.heard &&
                         conn->is_read() && !conn->has_unread_input();
  return is_silent ? conn->heartbeat.silence : Duration{0};
}

bool TcpTransport::is_unanswered(ConnId id) const {
  const TcpConnection* conn = find(id);
  return conn != nullptr && conn->fd && is_in_vain(conn->fd.get());
}

void TcpTransport::check_times(Time now) {
  next_due_ = kNever;
  if (listener_paused_) listen_again();
  const bool is_beat = now >= beats_.next();
  const Duration passed = is_beat ? beats_.take(now) : Duration{0};
  table_.each([&](TcpConnection& conn) {
    const Time deadline = tcp_life::deadline(conn.life);
    if (now >= deadline) return step(conn, tcp_life::Timeout{});
    due_by(deadline);
    if (is_beat && conn.heartbeat.on()) beat(conn, passed);
  });
  due_by(beats_.next());
}

void TcpTransport::beat(TcpConnection& conn, Duration passed) {
  // In all other states a deadline applies, or the connection is over.
  if (!tcp_life::is_any<tcp_life::Unproven, tcp_life::Open>(conn.life)) return;
  const bool is_silent = conn.heartbeat.beat(passed);
  if (conn.heartbeat.tells()) {
    conn.out.push_urgent(encode_frame_header(FrameType::ping, 0));
    mark_dirty(conn);
  }
  if (!is_silent) return;
  // Bytes of the peer may lie unread in the socket, because we slept or because this pass was full of other messages.
  if (!conn.is_read() || conn.has_unread_input()) {
    conn.heartbeat.heard = true;
    return;
  }
  const auto silent = std::chrono::duration_cast<Millis>(conn.heartbeat.silence);
  fail_with(conn, {Errc::timeout, fmt::format("silent for {} ms", silent.count())});
}

}  // namespace sumac::net
