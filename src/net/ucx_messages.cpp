// The ucx backend's messages: sent by ucp_am_send_nbx, received in its callback, and ordered by sequence number.
#include "base/bytes.hpp"
#include "net/tcp_frame.hpp"
#include "net/ucx_transport.hpp"

namespace sumac::net {
namespace {

inline constexpr std::size_t kHeadMax = 256;
// The largest gap between a message and one that has overtaken it.
inline constexpr std::uint32_t kAheadMax = 1u << 16;
inline constexpr std::size_t kIdleMax = 4096;

}  // namespace

// ---- sending

std::unique_ptr<UcxSend> UcxTransport::take_send() {
  if (idle_sends_.empty()) {
    auto fresh = std::make_unique<UcxSend>();
    fresh->transport = this;
    return fresh;
  }
  auto send = std::move(idle_sends_.back());
  idle_sends_.pop_back();
  send->bytes = 0;
  send->is_lent = false;
  send->sequence.reset();
  return send;
}

std::unique_ptr<UcxSend> UcxTransport::greeting(UcxConnection& conn, UcxKind kind, std::span<const std::byte> address) {
  UcxHeader header;
  header.kind = kind;
  header.to = conn.peer_id;
  header.key = conn.peer_key;
  header.from = conn.id.value;
  UcxGreeting body;
  body.key = conn.our_key;
  body.message_max = static_cast<std::uint32_t>(config_.message_max);
  name_.copy(body.name.data(), body.name.size() - 1);
  auto send = take_send();
  send->conn = conn.id;
  std::memcpy(send->header.data(), &header, sizeof header);
  send->header_bytes = sizeof header;
  const auto* bytes = reinterpret_cast<const std::byte*>(&body);
  send->copy.assign(bytes, bytes + sizeof body);
  send->copy.insert(send->copy.end(), address.begin(), address.end());
  send->body.bytes = send->copy;
  return send;
}

Errc UcxTransport::send(ConnId id, std::span<const std::byte> head, const Payload& body) {
  UcxConnection* conn = table_.find(id);
  if (conn == nullptr || conn->dead || conn->disowned) return Errc::lost;
  const std::size_t bytes = head.size() + body.bytes.size();
  const std::size_t limit = conn->peer_message_max == 0
                                ? config_.message_max
                                : std::min<std::size_t>(config_.message_max, conn->peer_message_max);
  if (head.size() > kHeadMax || bytes > limit) return Errc::invalid;
  if (conn->out_count > 0 && conn->out_bytes + bytes > config_.queue_max) {
    conn->tell_writable = true;
    return Errc::again;
  }
  // UCX reports late what was sent, and the peer may already have data that still counts here, so twice the limit is
  // allowed.
  if (body.owner && conn->out_bytes / 2 > conn->held_max) return Errc::exhausted;
  ++stats_.messages_out;
  stats_.bytes_out += bytes;
  conn->heartbeat.spoke = true;
  auto send = take_send();
  send->conn = id;
  UcxHeader header;
  header.to = conn->peer_id;
  header.key = conn->peer_key;
  header.from = id.value;
  header.sequence = conn->next_out++;
  std::memcpy(send->header.data(), &header, sizeof header);
  if (!head.empty()) std::memcpy(send->header.data() + sizeof header, head.data(), head.size());
  send->header_bytes = sizeof header + head.size();
  send->body = body;
  send->is_lent = lends(*conn, body, bytes);
  if (send->is_lent) ++conn->lent;
  // As the header file explains, UCX may read the body longer than our contract allows.
  if (!send->is_lent && !body.owner && !body.bytes.empty()) {
    send->body.owner = pool_.acquire(body.bytes.size());
    if (send->body.owner) {
      std::memcpy(send->body.owner.data(), body.bytes.data(), body.bytes.size());
      send->body.bytes = send->body.owner.bytes();
    } else {
      send->copy.assign(body.bytes.begin(), body.bytes.end());
      send->body.bytes = send->copy;
    }
  }
  send->bytes = bytes;
  if (config_.place_from != 0) {
    send->sequence = header.sequence;
    conn->unsent.emplace_back(kFrameHeaderBytes + bytes, false);
    conn->unsent_bytes += kFrameHeaderBytes + bytes;
  }
  if (!conn->open) {
    conn->out_bytes += bytes;
    ++conn->out_count;
    conn->waiting.push_back(std::move(send));
    return Errc::ok;
  }
  const Errc posted = post(*conn, std::move(send));
  if (posted != Errc::ok) end(*conn, Errc::lost, "message was not sent");
  return posted;
}

void UcxTransport::limit_held(ConnId id, std::size_t bytes) {
  if (UcxConnection* conn = table_.find(id); conn != nullptr) conn->held_max = bytes;
}

std::size_t UcxTransport::held(ConnId id) const {
  const UcxConnection* conn = table_.find(id);
  return conn == nullptr ? 0 : conn->out_bytes;
}

Errc UcxTransport::post(UcxConnection& conn, std::unique_ptr<UcxSend> send) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = on_sent;
  param.user_data = send.get();
  conn.out_bytes += send->bytes;
  ++conn.out_count;
  ++in_flight_;
  const ucs_status_ptr_t request =
      ucx().ucp_am_send_nbx(conn.endpoint, kUcxAmId, send->header.data(), send->header_bytes, send->body.bytes.data(),
                            send->body.bytes.size(), &param);
  if (UCS_PTR_IS_PTR(request)) {
    send.release();  // on_sent() takes ownership of it again.
    return Errc::ok;
  }
  const ucs_status_t status = UCS_PTR_STATUS(request);
  sent(std::move(send), UCS_OK);  // The caller handles the status; the count is right in either case.
  return status == UCS_OK ? Errc::ok : Errc::lost;
}

void UcxTransport::on_sent(void* request, ucs_status_t status, void* user) {
  std::unique_ptr<UcxSend> send(static_cast<UcxSend*>(user));
  ucx().ucp_request_free(request);
  UcxTransport* transport = send->transport;
  transport->sent(std::move(send), status);
}

void UcxTransport::sent(std::unique_ptr<UcxSend> send, ucs_status_t status) {
  --in_flight_;
  const ConnId id = send->conn;
  const std::size_t bytes = send->bytes;
  const bool is_lent = send->is_lent;
  const auto sequence = send->sequence;
  send->body = {};
  if (send->copy.capacity() > 0) send->copy = {};
  if (idle_sends_.size() < kIdleMax) idle_sends_.push_back(std::move(send));
  UcxConnection* conn = table_.find(id);
  if (conn == nullptr) return;
  conn->out_bytes -= bytes;
  --conn->out_count;
  if (sequence) count_sent(*conn, *sequence);
  if (status != UCS_OK) end(*conn, Errc::lost, fmt::format("connection lost: {}", ucx().ucs_status_string(status)));
  if (is_lent) give_back(*conn);
  if (!conn->dead && conn->tell_writable && conn->out_bytes <= config_.queue_max / 2) {
    conn->tell_writable = false;
    events_.note(Kind::writable, id);
  }
}

// ---- receiving

ucs_status_t UcxTransport::on_am(void* self, const void* header, size_t header_length, void* data, size_t length,
                                 const ucp_am_recv_param_t* param) {
  return static_cast<UcxTransport*>(self)->arrived({static_cast<const std::byte*>(header), header_length}, data, length,
                                                   param->recv_attr);
}

/// Returns UCS_OK if UCX may discard the data, and UCS_INPROGRESS if we hold it.
ucs_status_t UcxTransport::arrived(std::span<const std::byte> header, void* data, std::size_t length,
                                   std::uint64_t attributes) {
  UcxHeader h;
  if (header.size() < sizeof h) return UCS_OK;
  std::memcpy(&h, header.data(), sizeof h);
  if (h.magic != kUcxMagic || h.version != kUcxVersion) return UCS_OK;
  const bool eager = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (h.kind == UcxKind::hello) {
    if (config_.listen.empty() || !eager || length <= sizeof(UcxGreeting)) return UCS_OK;
    UcxHello hello{h, {}, {}};
    std::memcpy(&hello.greeting, data, sizeof hello.greeting);
    hello.greeting.name.back() = '\0';
    const auto* bytes = static_cast<const std::byte*>(data);
    hello.address.assign(bytes + sizeof hello.greeting, bytes + length);
    hellos_.push_back(std::move(hello));
    return UCS_OK;
  }
  UcxConnection* conn = table_.find(ConnId{h.to});
  if (conn == nullptr || conn->dead || conn->our_key != h.key) return UCS_OK;  // The message is late, or not for us.
  conn->heartbeat.heard = true;
  if (h.kind == UcxKind::ping) {
    pinged_.push_back(conn->id);
    return UCS_OK;
  }
  if (h.kind == UcxKind::pong) {
    conn->heartbeat.asked = false;
    return UCS_OK;
  }
  if (h.kind == UcxKind::gone) {
    end(*conn, Errc::lost, "closed by the peer");
    return UCS_OK;
  }
  if (h.kind == UcxKind::welcome) {
    if (conn->open || !eager || length != sizeof(UcxGreeting)) return UCS_OK;
    UcxGreeting greeting;
    std::memcpy(&greeting, data, sizeof greeting);
    greeting.name.back() = '\0';
    take_welcome(*conn, h, greeting);
    return UCS_OK;
  }
  if (h.kind == UcxKind::bye) {
    // The side that closed waits for the other's bye, after which everything that was sent has arrived. All other
    // messages are dropped, even if some are missing.
    if (conn->disowned) {
      end(*conn, Errc::lost, "closed");
      return UCS_OK;
    }
    if (UcxArrival* at = arrival(*conn, h.sequence); at != nullptr) at->state = UcxArrival::State::bye;
    hand_over(*conn);
    return UCS_OK;
  }
  if (h.kind != UcxKind::data || conn->disowned) return UCS_OK;
  return arrived_data(*conn, h, header.subspan(sizeof h), data, length, attributes);
}

UcxArrival* UcxTransport::arrival(UcxConnection& conn, std::uint32_t sequence) {
  const std::uint32_t ahead = sequence - conn.next_in;
  if (ahead < kAheadMax) {
    while (conn.arrivals.size() <= ahead) conn.arrivals.emplace_back();
    if (conn.arrivals[ahead].state == UcxArrival::State::missing) return &conn.arrivals[ahead];
  }
  end(conn, Errc::invalid, fmt::format("malformed: message {} where {} was next", sequence, conn.next_in));
  return nullptr;
}

BufferRef UcxTransport::make_frame(std::span<const std::byte> head, std::size_t body_bytes) {
  BufferRef frame = pool_.acquire(head.size() + body_bytes);
  if (frame && !head.empty()) std::memcpy(frame.data(), head.data(), head.size());
  return frame;
}

ucs_status_t UcxTransport::arrived_data(UcxConnection& conn, const UcxHeader& h, std::span<const std::byte> head,
                                        void* data, std::size_t length, std::uint64_t attributes) {
  if (head.size() > kHeadMax || length > config_.message_max || head.size() + length > config_.message_max) {
    end(conn, Errc::invalid, "malformed: the message is longer than message_max");
    return UCS_OK;
  }
  UcxArrival* at = arrival(conn, h.sequence);
  if (at == nullptr) return UCS_OK;
  ++stats_.messages_in;
  stats_.bytes_in += head.size() + length;
  at->state = UcxArrival::State::receiving;
  const bool rendezvous = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (const auto done = arrived_long(conn, h.sequence, *at, head, data, length, rendezvous); done) return *done;
  if (BufferRef frame = make_frame(head, length); frame) {
    if (rendezvous) {
      fetch(conn, h.sequence, std::move(frame), head.size(), data);
      return UCS_OK;
    }
    if (length > 0) std::memcpy(frame.data() + head.size(), data, length);
    at->frame = std::move(frame);
    at->state = UcxArrival::State::complete;
    hand_over(conn);
    return UCS_OK;
  }
  UcxHeld held{conn.id, h.sequence, {head.begin(), head.end()}, data, rendezvous, length, {}};
  const bool keep = rendezvous || (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  if (!keep) {
    const auto* bytes = static_cast<const std::byte*>(data);
    held.copy.assign(bytes, bytes + length);
    held.data = nullptr;
  }
  return hold(conn, std::move(held)) && keep ? UCS_INPROGRESS : UCS_OK;
}

bool UcxTransport::hold(UcxConnection& conn, UcxHeld held) {
  conn.held_bytes += held.head.size() + held.body_bytes;
  if (conn.held_bytes > config_.queue_max) {
    end(conn, Errc::exhausted, "no buffer for its messages");
    return false;
  }
  held_.push_back(std::move(held));
  return true;
}

/// Receives a rendezvous message directly into its frame.
void UcxTransport::fetch(UcxConnection& conn, std::uint32_t sequence, BufferRef frame, std::size_t offset, void* data) {
  const std::span<std::byte> to{frame.data() + offset, frame.size() - offset};
  fetch({this, conn.id, sequence, std::move(frame)}, to, data);
}

void UcxTransport::fetch(Receiving begun, std::span<std::byte> to, void* data) {
  auto receiving = std::make_unique<Receiving>(std::move(begun));
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.recv_am = on_received;
  param.user_data = receiving.get();
  ++in_flight_;
  const ucs_status_ptr_t request = ucx().ucp_am_recv_data_nbx(worker_.get(), data, to.data(), to.size(), &param);
  if (UCS_PTR_IS_PTR(request)) {
    receiving.release();
    return;
  }
  on_received(nullptr, UCS_PTR_STATUS(request), to.size(), receiving.release());
}

void UcxTransport::on_received(void* request, ucs_status_t status, size_t, void* user) {
  const std::unique_ptr<Receiving> done(static_cast<Receiving*>(user));
  if (request != nullptr) ucx().ucp_request_free(request);
  UcxTransport& self = *done->transport;
  --self.in_flight_;
  UcxConnection* conn = self.table_.find(done->conn);
  if (conn == nullptr) return;
  if (!conn->dead) self.received(*conn, *done, status);
  if (done->is_placed) self.give_back(*conn);
}

void UcxTransport::received(UcxConnection& conn, Receiving& done, ucs_status_t status) {
  const std::uint32_t ahead = done.sequence - conn.next_in;
  if (status != UCS_OK)
    return end(conn, Errc::lost, fmt::format("connection lost: {}", ucx().ucs_status_string(status)));
  if (ahead >= conn.arrivals.size()) return;
  UcxArrival& at = conn.arrivals[ahead];
  at.frame = std::move(done.frame);
  at.is_placed = done.is_placed;
  at.state = UcxArrival::State::complete;
  hand_over(conn);
}

void UcxTransport::hand_over(UcxConnection& conn) {
  while (!conn.dead && !conn.arrivals.empty()) {
    UcxArrival& first = conn.arrivals.front();
    if (first.state == UcxArrival::State::bye) {
      say_bye(conn);
      return end(conn, Errc::lost, "closed by the peer", true);
    }
    if (first.state != UcxArrival::State::complete) return;
    if (first.is_placed) ++stats_.placed;
    events_.note(first.is_placed ? Kind::placed : Kind::message, conn.id, std::move(first.frame));
    conn.arrivals.pop_front();
    ++conn.next_in;
  }
}

// ---- waiting for buffers

void UcxTransport::release(UcxHeld& held) {
  if (held.data != nullptr) ucx().ucp_am_data_release(worker_.get(), held.data);
  held.data = nullptr;
  held.copy.clear();
  held.conn = {};
}

bool UcxTransport::place(UcxConnection& conn, UcxHeld& held) {
  BufferRef frame = make_frame(held.head, held.body_bytes);
  if (!frame) return false;
  conn.held_bytes -= held.head.size() + held.body_bytes;
  if (held.rendezvous) {
    fetch(conn, held.sequence, std::move(frame), held.head.size(), std::exchange(held.data, nullptr));
    return true;
  }
  const void* from = held.data != nullptr ? held.data : held.copy.data();
  if (held.body_bytes > 0) std::memcpy(frame.data() + held.head.size(), from, held.body_bytes);
  const std::uint32_t ahead = held.sequence - conn.next_in;
  conn.arrivals[ahead].frame = std::move(frame);
  conn.arrivals[ahead].state = UcxArrival::State::complete;
  return true;
}

void UcxTransport::retry_held() {
  while (!held_.empty()) {
    UcxHeld& held = held_.front();
    UcxConnection* conn = table_.find(held.conn);
    if (conn != nullptr && !conn->dead && !conn->disowned) {
      if (!place(*conn, held)) return;
      hand_over(*conn);
    }
    release(held);
    held_.pop_front();
  }
}

}  // namespace sumac::net
