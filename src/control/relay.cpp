#include "control/relay.hpp"

#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace sumac::control {
namespace {

/// A record of TLS has at most so many bytes, so one read leaves none of them inside OpenSSL, where epoll cannot see it.
constexpr std::size_t kPiece = 16 << 10;
/// One connection moves at most so many pieces each way before the others have their turn.
constexpr int kPiecesInTurn = 8;
constexpr Duration kLastBytes = Seconds(10);
/// The lowest bit of a key in the epoll set: this is the caller's socket, not gRPC's.
constexpr Relay::Id kOfCaller = 1;

/// Judges the result of a call on a socket or TLS.
std::optional<std::size_t> moved(SSL* tls, int result, std::uint32_t plain_wait, std::uint32_t& waits) {
  waits = 0;
  if (result > 0) return static_cast<std::size_t>(result);
  if (tls == nullptr) {
    if (result == 0 || (errno != EAGAIN && errno != EINTR)) return std::nullopt;
    waits = plain_wait;
    return 0;
  }
  const int error = SSL_get_error(tls, result);
  ERR_clear_error();
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return std::nullopt;
  waits = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
  return 0;
}

}  // namespace

std::optional<std::size_t> CallerSocket::read(std::span<std::byte> into) {
  ERR_clear_error();
  const auto size = static_cast<int>(into.size());
  const int result =
      tls ? SSL_read(tls.get(), into.data(), size) : static_cast<int>(::recv(fd.get(), into.data(), into.size(), 0));
  return moved(tls.get(), result, EPOLLIN, read_waits);
}

std::optional<std::size_t> CallerSocket::write(std::span<const std::byte> bytes) {
  ERR_clear_error();
  const auto size = static_cast<int>(bytes.size());
  const int result = tls ? SSL_write(tls.get(), bytes.data(), size)
                         : static_cast<int>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  return moved(tls.get(), result, EPOLLOUT, write_waits);
}

Result<Relay> Relay::make(const Limits& limits) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  return Relay(limits, std::move(epoll));
}

Result<UniqueFd> Relay::add(Id id, CallerSocket caller, std::string share, const std::string& name) {
  if (const auto there = shares_.find(share);
      there != shares_.end() && there->second.connections >= limits_.share_connections_max)
    return fail(Errc::exhausted, "it has {} connections already", limits_.share_connections_max);
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0) return fail_errno("socketpair");
  UniqueFd ours(pair[0]), grpcs(pair[1]);
  if (!name.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto length = offsetof(sockaddr_un, sun_path) + 1 + std::min(name.size(), sizeof address.sun_path - 1);
    if (::bind(ours.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(length)) != 0)
      return fail_errno("bind");
  }
  epoll_event event{};
  event.data.u64 = id << 1;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ours.get(), &event) != 0) return fail_errno("epoll_ctl");
  event.data.u64 |= kOfCaller;
  // Bytes may have come with the last of a handshake, so the first turn comes at once.
  event.events = EPOLLIN | EPOLLOUT;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, caller.fd.get(), &event) != 0) return fail_errno("epoll_ctl");
  ++shares_[share].connections;
  connections_.emplace(id, Connection{.caller = std::move(caller),
                                      .grpc = std::move(ours),
                                      .calls = UnfinishedCalls(limits_.calls),
                                      .share = std::move(share),
                                      .caller_watched = event.events});
  return grpcs;
}

std::vector<Relay::Ended> Relay::progress(Time now) {
  std::vector<Ended> ended;
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const Id id = event.data.u64 >> 1;
    const auto found = connections_.find(id);
    if (found == connections_.end()) {  // Its other socket was first, or it is leaving.
      if ((event.events & (EPOLLHUP | EPOLLERR)) != 0) gone(id);
      continue;
    }
    auto& connection = found->second;
    const bool was_closing = connection.is_closing;
    const bool of_caller = (event.data.u64 & kOfCaller) != 0, is_over = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    if (is_over && !of_caller) close_grpc(connection);
    if ((is_over && of_caller) || !move(connection) || !watch(id, connection))
      end(id, now, ended);
    else if (connection.is_closing && !was_closing)
      closing_.emplace_back(deadline_after(now, kLastBytes), id);
    if (bytes_ > limits_.bytes_max) cut_the_largest(now, ended);
  }
  for (; !closing_.empty() && closing_.front().first <= now; closing_.pop_front()) {
    end(closing_.front().second, now, ended);
    gone(closing_.front().second);
  }
  return ended;
}

/// gRPC has closed its end. What it sent before is still read, but epoll would report the end again and again.
void Relay::close_grpc(Connection& connection) {
  if (std::exchange(connection.is_closing, true)) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.grpc.get(), nullptr);
}

/// Moves bytes both ways until neither side has or takes more, or its turn is over. Returns false if the connection is
/// over.
bool Relay::move(Connection& connection) {
  for (int piece = 0; piece < kPiecesInTurn; ++piece) {
    bool moved = false;
    if (!move_up(connection, moved) || !move_down(connection, moved)) return false;
    if (!moved) return true;
  }
  return true;
}

bool Relay::move_up(Connection& connection, bool& moved) {
  std::array<std::byte, kPiece> piece;
  std::span<const std::byte> bytes = connection.up;
  if (bytes.empty()) {
    const auto got = connection.caller.read(piece);
    if (!got) return false;
    bytes = std::span(piece).first(*got);
    if (!connection.calls.caller_sends(bytes) || !count(connection)) {
      connection.exceeded = true;
      return false;
    }
  }
  if (bytes.empty()) return true;
  auto taken = static_cast<ssize_t>(bytes.size());  // Nobody needs bytes for a gRPC that has closed its end.
  if (!connection.is_closing) {
    taken = ::send(connection.grpc.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (taken < 0 && (errno == EAGAIN || errno == EINTR)) taken = 0;
    if (taken < 0) {
      close_grpc(connection);
      taken = static_cast<ssize_t>(bytes.size());
    }
  }
  moved = moved || taken > 0;
  connection.up = Held(bytes.begin() + taken, bytes.end());
  return true;
}

bool Relay::move_down(Connection& connection, bool& moved) {
  std::array<std::byte, kPiece> piece;
  std::span<const std::byte> bytes = connection.down;
  if (bytes.empty() && connection.grpc) {
    const auto got = ::recv(connection.grpc.get(), piece.data(), piece.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
      close_grpc(connection);
      connection.grpc.reset();
    }
    bytes = std::span(piece).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    connection.calls.grpc_sends(bytes);
    count(connection);
  }
  if (bytes.empty()) return bool{connection.grpc};
  const auto sent = connection.caller.write(bytes);
  if (!sent) return false;
  moved = moved || *sent > 0;
  connection.down = Held(bytes.begin() + static_cast<std::ptrdiff_t>(*sent), bytes.end());
  return true;
}

/// Counts what its callers' messages cost now. Returns false if its share has no more room.
bool Relay::count(Connection& connection) {
  const auto now = connection.calls.bytes();
  auto& share = shares_[connection.share];
  share.bytes += now - connection.counted;
  bytes_ += now - connection.counted;
  connection.counted = now;
  return share.bytes <= limits_.share_bytes_max;
}

void Relay::uncount(const std::string& name, std::size_t connections, std::size_t bytes) {
  const auto found = shares_.find(name);
  auto& share = found->second;
  share.connections -= connections;
  share.bytes -= bytes;
  bytes_ -= bytes;
  if (share.connections == 0 && share.bytes == 0) shares_.erase(found);
}

/// A side is read while its last bytes have been taken by the other.
bool Relay::watch(Id id, Connection& connection) {
  std::uint32_t caller = 0, grpc = 0;
  if (connection.up.empty())
    caller |= connection.caller.read_waits != 0 ? connection.caller.read_waits : std::uint32_t{EPOLLIN};
  else
    grpc |= EPOLLOUT;
  if (!connection.down.empty())
    caller |= connection.caller.write_waits != 0 ? connection.caller.write_waits : std::uint32_t{EPOLLOUT};
  else if (!connection.is_closing)
    grpc |= EPOLLIN;
  else if (connection.grpc)
    caller |= EPOLLOUT;  // gRPC's last bytes are still to be read.
  const auto set = [&](const UniqueFd& fd, Id key, std::uint32_t wanted, std::uint32_t& watched) {
    if (!fd || wanted == watched || (&fd == &connection.grpc && connection.is_closing)) return true;
    epoll_event event{};
    event.events = watched = wanted;
    event.data.u64 = key;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd.get(), &event) == 0;
  };
  return set(connection.caller.fd, id << 1 | kOfCaller, caller, connection.caller_watched) &&
         set(connection.grpc, id << 1, grpc, connection.grpc_watched);
}

void Relay::end(Id id, Time now, std::vector<Ended>& ended) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  auto& connection = found->second;
  const bool is_kept = connection.counted > 0 && connection.grpc && !connection.is_closing;
  epoll_event event{};
  event.data.u64 = id << 1;
  if (is_kept && ::shutdown(connection.grpc.get(), SHUT_WR) == 0 &&
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.grpc.get(), &event) == 0) {
    uncount(connection.share, 1, 0);
    leaving_.emplace(id, Leaving{std::move(connection.grpc), connection.share, connection.counted});
    closing_.emplace_back(deadline_after(now, kLastBytes), id);
  } else {
    uncount(connection.share, 1, connection.counted);
  }
  if (connection.caller.tls) SSL_shutdown(connection.caller.tls.get());  // The caller's own word is not awaited.
  ERR_clear_error();
  ended.push_back({id, std::move(connection.share), connection.exceeded});
  connections_.erase(found);
}

/// gRPC has closed its end, or has had its time.
void Relay::gone(Id id) {
  const auto found = leaving_.find(id);
  if (found == leaving_.end()) return;
  uncount(found->second.share, 0, found->second.counted);
  leaving_.erase(found);
}

void Relay::cut_the_largest(Time now, std::vector<Ended>& ended) {
  if (connections_.empty()) return;  // All that counts is leaving.
  const auto largest = std::ranges::max_element(connections_, {}, [](const auto& one) { return one.second.counted; });
  largest->second.exceeded = true;
  end(largest->first, now, ended);
}

}  // namespace sumac::control
