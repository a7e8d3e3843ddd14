// The sending half of the tcp backend and its timing: due times, and peers that were silent for too long.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cassert>

#include "net/tcp_transport.hpp"

namespace sumac::net {
void TcpTransport::mark_dirty(TcpConnection& conn) {
  if (conn.dirty) return;
  conn.dirty = true;
  dirty_.push_back(conn.id);
}

Errc TcpTransport::send(ConnId id, std::span<const std::byte> head, const Payload& body) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || conn->state == TcpState::dead || conn->disowned) return Errc::lost;
  const std::size_t bytes = head.size() + body.bytes.size();
  const std::size_t limit = conn->peer_message_max == 0
                                ? config_.message_max
                                : std::min<std::size_t>(config_.message_max, conn->peer_message_max);
  if (head.size() > kHeadMax || bytes > limit) return Errc::invalid;
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
  const bool connected = conn->state != TcpState::connecting;
  if (connected && corked_ == 0 && conn->out.empty()) {
    const Errc sent = conn->send_now(frame, head, body, stats_);
    if (sent == Errc::again) {
      arm_output(*conn, true);
    } else if (sent == Errc::lost) {
      ended(*conn);
    }
    return sent == Errc::lost ? Errc::lost : Errc::ok;
  }
  conn->out.push(frame, head, body, 0);
  // While EPOLLOUT is armed the socket is full, and before the connection is established nothing can be written.
  if (connected && !conn->out_armed) mark_dirty(*conn);
  return Errc::ok;
}

void TcpTransport::flush(TcpConnection& conn) {
  switch (conn.flush(stats_)) {
    case Errc::ok: arm_output(conn, false); break;
    case Errc::again: arm_output(conn, true); break;
    default: return ended(conn);
  }
  if (conn.state == TcpState::dead) return;
  if (conn.out.empty()) conn.pong_owed = false;
  if (conn.muted && conn.out.count() <= config_.answers_max / 2) {
    conn.muted = false;
    if (!conn.stalled && !watch_fd(conn, true, conn.out_armed)) return ended(conn);
  }
  if (conn.tell_writable && conn.out.bytes() <= config_.queue_max / 2) {
    conn.tell_writable = false;
    events_.note(Kind::writable, conn.id);
  }
  if (conn.disowned && conn.out.empty()) shut(conn);
}

/// Everything is sent. Closing now could destroy it in flight, because a socket closed with unread input sends a
/// reset. So only our direction ends, and the peer's is read until it ends as well.
void TcpTransport::shut(TcpConnection& conn) {
  if (conn.shut) return;
  conn.shut = true;
  ++stats_.system_calls;
  shutdown(conn.fd.get(), SHUT_WR);
}

void TcpTransport::flush_dirty() {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    TcpConnection* conn = find(dirty_[i]);
    if (conn == nullptr) continue;
    conn->dirty = false;
    if (conn->state != TcpState::dead && conn->state != TcpState::connecting) flush(*conn);
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

void TcpTransport::detach(ConnId id) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || conn->state == TcpState::dead) return;
  conn->out.detach();
  if (conn->reader.displace()) return;
  conn->fail_with(Errc::exhausted, conn->reader.flaw());
  ended(*conn);
}

void TcpTransport::close(ConnId id, bool flush) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || (conn->disowned && flush)) return;
  if (!flush || conn->state == TcpState::dead || !conn->reader.displace()) return drop(*conn);
  conn->out.detach();
  conn->disowned = true;
  ++flushing_;
  conn->tell_writable = false;
  conn->deadline = deadline_after(monotonic_now(), config_.linger);
  due_by(conn->deadline);
  if (conn->out.empty()) shut(*conn);  // While still connecting, the greeting is in the queue.
}

Errc TcpTransport::watch(ConnId id, Millis every, Millis silent_after) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || conn->state == TcpState::dead) return Errc::lost;
  if (every.count() < 0 || silent_after.count() < 0) return Errc::invalid;
  beats_.set(conn->heartbeat, every, silent_after, monotonic_now());
  due_by(beats_.next());
  return Errc::ok;
}

void TcpTransport::check_times(Time now) {
  next_due_ = kNever;
  if (listener_paused_) listen_again();
  const bool is_beat = now >= beats_.next();
  const Duration passed = is_beat ? beats_.take(now) : Duration{0};
  table_.each([&](TcpConnection& conn) {
    if (conn.state == TcpState::dead) return;
    if (now >= conn.deadline) {
      const char* what = conn.state == TcpState::connecting ? "no connection"
                         : conn.state == TcpState::greeting ? "no greeting"
                                                            : "it did not prove its identity";
      conn.fail_with(Errc::timeout, fmt::format("{} in {} ms", what, config_.handshake_timeout.count()));
      return ended(conn);
    }
    due_by(conn.deadline);
    if (is_beat && conn.heartbeat.on() && !conn.disowned) beat(conn, passed);
  });
  due_by(beats_.next());
}

void TcpTransport::beat(TcpConnection& conn, Duration passed) {
  if (conn.state != TcpState::open) return;  // While the connection is not open, the deadline of its greeting applies.
  const bool is_silent = conn.heartbeat.beat(passed);
  if (conn.heartbeat.tells()) {
    conn.out.push_urgent(encode_frame_header(FrameType::ping, 0));
    mark_dirty(conn);
  }
  if (!is_silent) return;
  // Bytes of the peer may lie unread in the socket, because we slept or because this pass was full of other messages.
  if (conn.stalled || conn.muted || conn.asks || conn.has_unread_input()) {
    conn.heartbeat.heard = true;
    return;
  }
  const auto silent = std::chrono::duration_cast<Millis>(conn.heartbeat.silence);
  conn.fail_with(Errc::timeout, fmt::format("silent for {} ms", silent.count()));
  ended(conn);
}

}  // namespace sumac::net
