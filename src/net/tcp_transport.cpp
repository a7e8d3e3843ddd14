#include "net/tcp_transport.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "net/now.hpp"
#include "net/tcp_socket.hpp"

namespace sumac::net {
namespace {

inline constexpr int kAcceptsPerPass = 16;  // A flood of connects must not starve the existing connections.
inline constexpr int kReadsPerPass = 8;     // A fast sender must not starve its neighbours.
inline constexpr std::size_t kMessagesPerTurn = 64;
inline constexpr std::size_t kWakeFromMax = 256 * 1024;  // Every receive buffer has room for this many bytes.
/// In a report of epoll, marks a descriptor of add_reader() instead of a connection.
inline constexpr std::uint64_t kReader = std::uint64_t{1} << 63;

}  // namespace

Result<std::unique_ptr<Transport>> TcpTransport::make(const TransportConfig& config, BufferPool& pool) {
  std::unique_ptr<TcpTransport> transport(new TcpTransport(config, pool));
  transport->epoll_ = PrivateFd::from([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!transport->epoll_) return fail_errno("epoll_create1");
  if (!config.listen.empty())
    if (auto r = transport->open_listener(); !r) return tl::unexpected(r.error());
  return std::unique_ptr<Transport>(std::move(transport));
}

/// Returns the address to publish for a listener at all addresses.
Result<SocketAddress> TcpTransport::published_for(const SocketAddress& any) const {
  const int family = any.family() == AF_INET ? AF_UNSPEC : AF_INET6;
  const auto& publish = config_.publish;
  if (config_.device.empty() && publish && (family == AF_UNSPEC || publish->family() == family)) return *publish;
  return device_address(config_.device, family);
}

Result<> TcpTransport::open_listener() {
  auto wanted = parse_address(config_.listen);
  if (!wanted) return within("listen", wanted.error());
  std::optional<SocketAddress> published;
  if (wanted->is_any()) {
    auto found = published_for(*wanted);
    if (!found) return within("address to publish", found.error());
    published = *found;
    // 0.0.0.0 means any address, also on a host that has IPv6 addresses alone.
    if (published->family() == AF_INET6 && wanted->family() == AF_INET)
      wanted = parse_address(fmt::format("[::]:{}", wanted->port()));
  }
  auto listener = listen_on(*wanted, 1024);
  if (!listener) return tl::unexpected(listener.error());
  auto bound = local_address(listener->get());
  if (!bound) return tl::unexpected(bound.error());
  if (published) {
    published->set_port(bound->port());
    bound = *published;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = 0;  // No connection has the id 0.
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener->get(), &event) != 0) return fail_errno("epoll_ctl");
  listener_ = PrivateFd::from([&] { return listener->release(); });
  address_ = "tcp:" + format_address(*bound);
  return {};
}

std::size_t queue_bytes_max(const TransportConfig& config) noexcept {
  // Counts the answers that wait when reading stops, those to the messages of a last pass, and those of its last read
  // if all its messages were short.
  constexpr std::size_t kLeastMessage = kFrameHeaderBytes + 64, kAnswer = 136;
  const std::size_t messages = config.answers_max + kMessagesPerTurn + kLandingBytes / kLeastMessage;
  return config.connections_max *
         (sizeof(TcpConnection) + kLandingBytes + std::bit_ceil(messages) * sizeof(OutMessage) + messages * kAnswer);
}

// ---- connections and their slots

TcpConnection& TcpTransport::add(PrivateFd fd, bool connector, tcp_life::State begin) {
  due_by(tcp_life::deadline(begin));
  return table_.add([&](ConnId id) {
    return std::make_unique<TcpConnection>(id, std::move(fd), connector, std::move(begin), pool_, config_);
  });
}

void TcpTransport::drop(TcpConnection& conn) {
  if (tcp_life::is_stranger(conn.life)) forget_stranger();
  // Removed explicitly: a forked child may hold a copy of the descriptor, and then close() alone would not end the
  // reports.
  if (conn.fd) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, conn.fd.get(), nullptr);
  if (conn.is_disowned()) --flushing_;
  beats_.forget(conn.heartbeat);
  leave_owner(conn);
  table_.erase(conn);
}

void TcpTransport::leave_owner(const TcpConnection& conn) {
  if (conn.owner != 0 && --owners_.at(conn.owner).connections == 0) owners_.erase(conn.owner);
}

void TcpTransport::belongs_to(ConnId id, std::uint64_t owner) {
  TcpConnection* conn = find(id);
  if (conn == nullptr || conn->owner == owner) return;
  leave_owner(*conn);
  conn->owner = owner;
  if (owner != 0) ++owners_[owner].connections;
}

/// epoll reports all ready connections, again and again, and always in the same order if there are more than fit into
/// one report: the first ones would then be served alone. So the owner that has waited longest goes first, and among
/// its connections likewise.
void TcpTransport::order_by_turns(int count) {
  struct Turn {
    std::uint64_t owner = 0, connection = 0;
    epoll_event report;
  };
  std::array<Turn, std::tuple_size_v<decltype(reports_)>> turns;
  const auto end = turns.begin() + count;
  for (auto at = turns.begin(); at != end; ++at) {
    at->report = reports_[static_cast<std::size_t>(at - turns.begin())];
    at->owner = at->connection = 0;
    const bool is_connection = at->report.data.u64 != 0 && (at->report.data.u64 & kReader) == 0;
    const auto* conn = is_connection ? find(ConnId{static_cast<std::uint32_t>(at->report.data.u64)}) : nullptr;
    if (conn == nullptr) continue;  // The listener and other parties' descriptors cause little work.
    at->owner = owners_.at(conn->owner).served;
    at->connection = conn->served;
  }
  std::sort(turns.begin(), end, [](const Turn& a, const Turn& b) {
    return std::tie(a.owner, a.connection) < std::tie(b.owner, b.connection);
  });
  for (int i = 0; i < count; ++i) reports_[static_cast<std::size_t>(i)] = turns[static_cast<std::size_t>(i)].report;
}

/// Also called in the first pass that leaves a connection out: in the next pass that connection precedes those served
/// here.
void TcpTransport::note_turns(int served) {
  for (int i = 0; i < served; ++i) {
    const auto which = reports_[static_cast<std::size_t>(i)].data.u64;
    if (which == 0 || (which & kReader) != 0) continue;
    if (TcpConnection* conn = find(ConnId{static_cast<std::uint32_t>(which)}); conn != nullptr)
      conn->served = owners_.at(conn->owner).served = ++turns_;
  }
}

bool TcpTransport::watch_fd(TcpConnection& conn, bool in, bool out, bool fresh) {
  conn.out_armed = out;
  epoll_event event{};
  event.events = (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u);
  event.data.u64 = conn.id.value;
  ++stats_.system_calls;
  return epoll_ctl(epoll_.get(), fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, conn.fd.get(), &event) == 0;
}

/// A connection that can't be watched ends.
bool TcpTransport::rewatch(TcpConnection& conn, bool in, bool out) {
  if (watch_fd(conn, in, out)) return true;
  fail_with(conn, {Errc::io, fmt::format("epoll_ctl: {}", std::strerror(errno))});
  return false;
}

void TcpTransport::arm_output(TcpConnection& conn, bool on) {
  if (conn.out_armed != on) rewatch(conn, tcp_input::is_watched(conn.input), on);
}

void TcpTransport::step(TcpConnection& conn, const tcp_life::Event& event) {
  auto [state, actions] = tcp_life::step(conn.life, event, limits_);
  conn.life = std::move(state);
  for (const auto& action : actions) perform(conn, action);
}

void TcpTransport::perform(TcpConnection& conn, const tcp_life::Action& action) {
  using namespace tcp_life;
  std::visit(
      overloaded{
          [&](const Start&) {
            if (rewatch(conn, true, true)) flush(conn);
          },
          [&](const Welcome&) {
            const auto bytes = static_cast<std::uint32_t>(config_.message_max);
            conn.out.push(encode_greeting(FrameType::welcome, bytes), {}, {}, 0);
            mark_dirty(conn);
          },
          [&](const SendAtMost& a) {
            if (a.bytes != 0) conn.send_max = std::min<std::size_t>(config_.message_max, a.bytes);
          },
          [&](const AcceptAtMost& a) { conn.reader.set_message_max(a.bytes); },
          [&](const TellOpened&) { events_.note(conn.is_connector ? Kind::connected : Kind::accepted, conn.id); },
          [&](const CountStranger&) { count_stranger(conn); },
          [&](const ForgetStranger&) { forget_stranger(); },
          [&](const Disown& a) {
            conn.out.detach();
            conn.tell_writable = false;
            ++flushing_;
            due_by(a.deadline);
          },
          [&](const Shut&) {
            ++stats_.system_calls;
            shutdown(conn.fd.get(), SHUT_WR);
          },
          [&](const End&) { end(conn); },
          [&](const Drop&) { drop(conn); },
      },
      action);
}

void TcpTransport::fail_with(TcpConnection& conn, Error why) { step(conn, tcp_life::Failed{std::move(why)}); }

void TcpTransport::end(TcpConnection& conn) {
  if (conn.fd) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, conn.fd.get(), nullptr);
    conn.fd.reset();
  }
  conn.out.clear();
  events_.note(Kind::closed, conn.id);
}

Result<ConnId> TcpTransport::connect_by(std::string_view interface, std::string_view address) {
  if (!address.starts_with("tcp:"))
    return fail(Errc::invalid, "{} is no tcp address: write tcp:10.1.0.5:7000", address);
  auto to = parse_address(address.substr(4));
  if (!to) return tl::unexpected(to.error());
  if (to->port() == 0 || to->is_any())
    return fail(Errc::invalid, "{} is no address to connect to: name the peer's own address and port", address);
  if (table_.full()) return fail(Errc::exhausted, "connect {}: all {} connections are in use", address, table_.limit());
  auto started = start_connect(*to, config_.user_timeout, interface);
  if (!started) return within(fmt::format("connect {}", address), started.error());
  TcpConnection& conn = add(std::move(started->fd), true, tcp_life::Connecting{handshake_deadline()});
  conn.peer_name = format_address(*to);
  // The greeting goes first, whatever is queued later.
  conn.out.push(encode_greeting(FrameType::hello, static_cast<std::uint32_t>(config_.message_max)), {}, {}, 0);
  if (started->error != 0) {
    fail_with(conn, {Errc::lost, fmt::format("connect: {}", std::strerror(started->error))});
  } else if (!watch_fd(conn, false, true, true)) {
    fail_with(conn, {Errc::io, fmt::format("epoll_ctl: {}", std::strerror(errno))});
  }
  return conn.id;
}

void TcpTransport::accept_some() {
  for (int i = 0; i < kAcceptsPerPass; ++i) {
    if (const Time room = room_for_stranger(); room != Time{}) return stop_listening(room);
    SocketAddress from;
    from.length = sizeof from.storage;
    ++stats_.system_calls;
    auto fd = PrivateFd::from(
        [&] { return accept4(listener_.get(), from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        ++stats_.turned_away;
        stop_listening(monotonic_now() + kAcceptRetry);
      } else if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) {
        continue;
      }
      return;
    }
    if (table_.full()) {  // Closed at once: the peer sees "closed by the peer".
      ++stats_.turned_away;
      continue;
    }
    if (!set_stream_options(fd.get(), config_.user_timeout)) continue;  // The peer was gone before we looked.
    TcpConnection& conn =
        add(std::move(fd), false, tcp_life::Greeting{handshake_deadline(), config_.stranger_bytes != 0});
    conn.peer_name = format_address(from);
    if (tcp_life::is_stranger(conn.life)) {
      count_stranger(conn);
      conn.reader.set_message_max(std::min(config_.stranger_bytes, config_.message_max));
    }
    if (!watch_fd(conn, true, false, true)) drop(conn);
  }
}

/// New connections wait in the listener's backlog. epoll would report them again and again, so the listener is not
/// watched until then.
void TcpTransport::stop_listening(Time until) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
  listener_paused_ = true;
  due_by(until);
}

void TcpTransport::listen_again() {
  epoll_event event{};
  event.events = EPOLLIN;
  listener_paused_ = epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0;
  if (listener_paused_) due_by(monotonic_now() + kAcceptRetry);
}

/// Returns the time when the next stranger may be accepted; Time{} means now. All ranks of a large job connect at once,
/// so the oldest stranger is not displaced as long as it may still be in its handshake.
Time TcpTransport::room_for_stranger() {
  if (config_.stranger_bytes == 0 || stranger_count_ < config_.strangers_max) return {};
  const TcpConnection* oldest = oldest_stranger();
  const Time deadline = oldest == nullptr ? kNever : tcp_life::deadline(oldest->life);
  if (deadline == kNever) return {};
  const Time due = deadline - config_.handshake_timeout + kStrangerUndisturbed;
  return due > monotonic_now() ? due : Time{};
}

/// `newcomer` may stand in the list from a time before its admission.
TcpConnection* TcpTransport::oldest_stranger(const TcpConnection* newcomer) {
  for (; !strangers_.empty(); strangers_.pop_front()) {
    TcpConnection* conn = find(strangers_.front());
    if (conn != nullptr && conn != newcomer && tcp_life::is_stranger(conn->life)) return conn;
  }
  return nullptr;
}

/// If there are too many strangers, the oldest is displaced first: an honest peer completes its handshake long before.
void TcpTransport::count_stranger(TcpConnection& conn) {
  while (stranger_count_ >= config_.strangers_max) {
    TcpConnection* oldest = oldest_stranger(&conn);
    if (oldest == nullptr) break;
    ++stats_.displaced;
    fail_with(*oldest, {Errc::timeout, "displaced by others before it proved its identity"});
  }
  ++stranger_count_;
  strangers_.push_back(conn.id);
  // Entries of admitted and closed connections are removed.
  if (strangers_.size() > 2 * config_.strangers_max)
    std::erase_if(strangers_, [&](ConnId id) {
      const TcpConnection* c = find(id);
      return c == nullptr || !tcp_life::is_stranger(c->life);
    });
}

void TcpTransport::forget_stranger() {
  --stranger_count_;
  if (listener_paused_) listen_again();
}

void TcpTransport::estrange(ConnId id) {
  TcpConnection* conn = find(id);
  if (config_.stranger_bytes != 0 && conn != nullptr) step(*conn, tcp_life::Estranged{});
}

void TcpTransport::admit(ConnId id) {
  if (TcpConnection* conn = find(id); conn != nullptr) step(*conn, tcp_life::Admitted{});
}

void TcpTransport::finish_connect(TcpConnection& conn) {
  int error = 0;
  socklen_t length = sizeof error;
  ++stats_.system_calls;
  if (getsockopt(conn.fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return fail_with(conn, {Errc::lost, fmt::format("connect: {}", std::strerror(error))});
  step(conn, tcp_life::Connected{});
}

// ---- receiving

void TcpTransport::take(TcpConnection& conn, Frame&& frame) {
  switch (frame.type) {
    case FrameType::data:
      if (conn.is_disowned()) return;  // A disowned connection is read only to reach the end of the stream.
      ++stats_.messages_in;
      stats_.placed += frame.placed ? 1 : 0;
      if (frame.placed && !std::exchange(conn.follows, true)) following_.push_back(conn.id);
      return events_.note(frame.placed ? Kind::placed : Kind::message, conn.id, std::move(frame.content));
    case FrameType::hello:
    case FrameType::welcome:
      return step(conn, tcp_life::Greeted{frame.type == FrameType::hello, frame.greeting.message_max});
    case FrameType::ping:
      // A peer that only pings and never reads gets one answer for all pings, and takes no more memory.
      if (!std::exchange(conn.pong_owed, true)) conn.out.push_urgent(encode_frame_header(FrameType::pong, 0));
      return mark_dirty(conn);
    case FrameType::pong: conn.heartbeat.asked = false; return;
  }
}

/// Called after a read; returns true while there may be more to read.
bool TcpTransport::settle(TcpConnection& conn, TcpConnection::Read read) {
  switch (read) {
    case TcpConnection::Read::drained: return false;
    case TcpConnection::Read::more: return true;
    case TcpConnection::Read::stalled: return step<tcp_input::Event::no_buffer>(conn), false;
    case TcpConnection::Read::asks: return step<tcp_input::Event::asked>(conn), false;
    case TcpConnection::Read::failed: return fail_with(conn, std::move(conn.failure)), false;
  }
  return false;
}

/// Returns true if too many answers wait for this peer; it is read again when it has taken some.
bool TcpTransport::mute(TcpConnection& conn) {
  if (config_.answers_max == 0 || conn.is_connector || conn.out.count() <= config_.answers_max) return false;
  step<tcp_input::Event::too_many_answers>(conn);
  return true;
}

/// If one large message follows another, the memory for the next one is known before it arrives: then one read receives
/// all of it.
std::span<std::byte> TcpTransport::expected(TcpConnection& conn, TransportEvents& events,
                                            std::span<std::byte, kPlaceHead> head) {
  if (conn.guess_after > 0) return --conn.guess_after, std::span<std::byte>{};
  const auto to = events.on_expect(conn.id, head);
  return to.size() + kPlaceHead < config_.place_from ? std::span<std::byte>{} : to;
}

/// One wake-up suffices too, because a part of such a message is useless. A shorter message may arrive instead; no rank
/// waits for it urgently, and it is found when kWakeAfter has passed.
void TcpTransport::choose_wakes(TransportEvents& events) {
  wake_due_ = kNever;
  std::erase_if(following_, [&](ConnId id) {
    TcpConnection* conn = find(id);
    if (conn == nullptr || tcp_life::is_over(conn->life)) return true;
    std::size_t bytes = 1;
    std::array<std::byte, kPlaceHead> head;
    const bool asks = conn->input == tcp_input::State::asking;
    if (conn->reader.places() && !conn->is_disowned() && !asks && conn->guess_after == 0 && events_.empty()) {
      bytes = conn->reader.target().size();
      if (conn->reader.between_frames()) bytes = expected(*conn, events, head).size() + kExpectedHead;
    }
    if (bytes <= kExpectedHead || bytes > kWakeFromMax) bytes = 1;
    if (now_ >= conn->read_at + kWakeAfter) {
      bytes = 1;
      conn->guess_after = 1;  // From now on every byte wakes us, until a message has arrived.
    }
    conn->wake_from(bytes, stats_);
    if (bytes > 1) wake_due_ = std::min(wake_due_, conn->read_at + kWakeAfter);
    conn->follows = bytes > 1;
    return bytes == 1;
  });
}

void TcpTransport::receive(TcpConnection& conn, TransportEvents& events) {
  conn.heartbeat.heard = true;
  conn.read_at = now_;
  std::array<std::byte, kPlaceHead> head;
  while (conn.reads_left > 0 && events_.size() < kMessagesPerTurn) {
    if (mute(conn)) return;
    --conn.reads_left;
    if (conn.reader.places() && conn.reader.between_frames() && !conn.is_disowned()) {
      // The next message can be guessed only after the earlier ones are delivered.
      if (!events_.empty()) return step<tcp_input::Event::asked>(conn);
      if (const auto to = expected(conn, events, head); !to.empty()) conn.reader.expect(head, to);
    }
    const auto read = conn.receive(landing_, stats_, [&](Frame&& frame) { take(conn, std::move(frame)); });
    if (!settle(conn, read)) return;
  }
}

/// Returns true if all bytes that a read had left behind are processed.
bool TcpTransport::resume(TcpConnection& conn) {
  const auto read = conn.resume([&](Frame&& frame) { take(conn, std::move(frame)); });
  if (read != TcpConnection::Read::drained) return settle(conn, read), false;
  step<tcp_input::Event::went_on>(conn);
  return true;
}

void TcpTransport::resume_stalled() {
  std::vector<ConnId> waiting;
  waiting.swap(stalled_);
  for (const ConnId id : waiting) {
    TcpConnection* conn = find(id);
    if (conn == nullptr || tcp_life::is_over(conn->life)) continue;
    resume(*conn);
  }
}

/// Chooses memory for messages that have begun and reads on, as long as all earlier messages are delivered.
std::size_t TcpTransport::place_begun(TransportEvents& events, std::size_t budget) {
  std::size_t delivered = 0;
  while (!asking_.empty() && events_.empty() && delivered < budget) {
    TcpConnection* conn = find(asking_.back());
    asking_.pop_back();
    if (conn == nullptr || tcp_life::is_over(conn->life)) continue;
    if (conn->reader.asks())
      conn->reader.place(conn->is_disowned() ? std::span<std::byte>{}
                                             : events.on_head(conn->id, conn->reader.head(), conn->reader.length()));
    if (resume(*conn) && !conn->drained) receive(*conn, events);
    delivered += deliver(events, budget - delivered);
  }
  return delivered;
}

void TcpTransport::on_socket(TcpConnection& conn, std::uint32_t what, TransportEvents& events) {
  if (tcp_life::is_over(conn.life)) return;
  if (tcp_life::is_connecting(conn.life)) return finish_connect(conn);
  if ((what & EPOLLOUT) != 0) {
    flush(conn);
    if (tcp_life::is_over(conn.life)) return;
  }
  if ((what & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
  if (!conn.is_read()) return step<tcp_input::Event::hung_up>(conn);
  conn.reads_left = kReadsPerPass;
  receive(conn, events);
}

/// Messages are delivered connection by connection, while they are still in the cache.
std::size_t TcpTransport::poll_sockets(TransportEvents& events, std::size_t budget) {
  int count = std::exchange(reported_, 0);
  if (count == 0) {
    ++stats_.system_calls;
    count = epoll_within(epoll_.get(), reports_.data(), static_cast<int>(reports_.size()), 0);
  }
  if (is_crowded_ && count > 1) order_by_turns(count);
  std::size_t delivered = 0;
  int served = 0;
  while (served < count && delivered < budget) {
    const auto report = reports_[static_cast<std::size_t>(served++)];
    if (report.data.u64 == 0) {
      accept_some();
    } else if ((report.data.u64 & kReader) != 0) {
      events.on_readable(static_cast<std::uint32_t>(report.data.u64));
      ++delivered;
    } else if (TcpConnection* conn = find(ConnId{static_cast<std::uint32_t>(report.data.u64)}); conn != nullptr) {
      on_socket(*conn, report.events, events);
    }
    delivered += deliver(events, budget - delivered);
    delivered += place_begun(events, budget - delivered);
  }
  is_crowded_ = served < count;  // The remaining connections stay ready and come first in the next pass.
  if (is_crowded_) note_turns(served);
  return delivered;
}

std::size_t TcpTransport::deliver(TransportEvents& events, std::size_t budget) {
  return events_.empty() ? 0 : events_.deliver(table_, events, budget, [&](TcpConnection& conn) { drop(conn); });
}

std::size_t TcpTransport::progress(TransportEvents& events, std::size_t budget) {
  // The clock is read only if something depends on it; a watched connection always has a due time.
  if (next_due_ != kNever || config_.place_from != 0) now_ = monotonic_now();
  if (!rows_.empty()) end_rows();
  ++corked_;
  if (!stalled_.empty()) resume_stalled();
  std::size_t delivered = deliver(events, budget);
  delivered += place_begun(events, budget - delivered);
  if (events_.empty() && delivered < budget) delivered += poll_sockets(events, budget - delivered);
  if (next_due_ != kNever && now_ >= next_due_) check_times(now_);
  if (delivered < budget) delivered += deliver(events, budget - delivered);
  reported_ = 0;  // epoll will again report the sockets that this pass did not handle.
  uncork();
  if (!following_.empty()) choose_wakes(events);
  return delivered;
}

bool TcpTransport::arm() {
  if (!rows_.empty()) end_rows();
  if (!events_.empty() || !dirty_.empty() || !asking_.empty()) return false;
  if (const Time due = next_due(); due != kNever && monotonic_now() >= due) return false;
  // A stalled connection goes on when a buffer was released; until then only its users can change that.
  for (const ConnId id : stalled_)
    if (const TcpConnection* conn = find(id); conn != nullptr && pool_.acquire(conn->reader.missing_buffer()))
      return false;
  return true;
}

bool TcpTransport::wait(Duration at_most) {
  const timespec exactly = wait_time(at_most);
  const auto room = static_cast<int>(reports_.size());
  ++stats_.system_calls;
  int count = -1;
  if (waits_exactly_)  // Called by its number: glibc has the function since 2.35, Linux the call since 5.11.
    count = static_cast<int>(::syscall(SYS_epoll_pwait2, epoll_.get(), reports_.data(), room, &exactly, nullptr, 0L));
  if (count < 0 && (!waits_exactly_ || errno == ENOSYS)) {
    waits_exactly_ = false;
    count = epoll_within(epoll_.get(), reports_.data(), room, wait_milliseconds(at_most));
  }
  reported_ = std::max(0, count);
  return count != 0;  // -1 means a signal: it counts as an early return.
}

Errc TcpTransport::add_reader(int fd, std::uint32_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kReader | token;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? Errc::ok : Errc::io;
}

void TcpTransport::remove_reader(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int TcpTransport::descriptor(ConnId conn) const {
  const TcpConnection* c = find(conn);
  return c == nullptr || !c->fd ? -1 : c->fd.get();
}

std::string TcpTransport::local(ConnId conn) const {
  const TcpConnection* c = find(conn);
  if (c == nullptr || !c->fd) return {};
  const auto address = local_address(c->fd.get());
  return address ? format_address(*address) : std::string();
}

std::string TcpTransport::peer(ConnId conn) const {
  const TcpConnection* c = find(conn);
  return c == nullptr ? "closed connection" : c->peer_name;
}

}  // namespace sumac::net
