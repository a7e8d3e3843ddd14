#include "net/tcp_connection.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/now.hpp"

namespace sumac::net {
namespace {

/// A wrong guess costs a copy of the misplaced bytes, so the next guess waits for this many messages.
inline constexpr int kGuessAfter = 16;
inline constexpr std::size_t kGatherMax = 64;  // Messages have two parts, so one system call sends up to 32.

Error lost(int error) {
  return {error == ETIMEDOUT ? Errc::timeout : Errc::lost, fmt::format("connection lost: {}", std::strerror(error))};
}

bool is_full(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

Error TcpConnection::take_why() {
  Error why = std::move(std::get<tcp_life::Ended>(life).why);
  if (!peer_name.empty()) why.context = fmt::format("{}: {}", peer_name, why.context);
  return why;
}

ssize_t TcpConnection::read_some(Landing& landing, std::size_t& wanted, TransportStats& stats) {
  const auto target = reader.target(), expected = reader.expected();
  iovec iov[3];
  int used = 0;
  wanted = 0;
  const auto add = [&](std::byte* to, std::size_t bytes) {
    iov[used++] = {to, bytes};
    wanted += bytes;
  };
  // Between placed messages a read takes only as many bytes as determine the memory of the next message, because any
  // further bytes would have to be copied there. Behind an expected message it takes nothing: once that message is
  // delivered, the next one is expected.
  if (!expected.empty()) add(landing.data(), kExpectedHead);
  if (!expected.empty() || !target.empty())
    add(expected.empty() ? target.data() : expected.data(), target.size() + expected.size());
  if (expected.empty()) add(landing.data(), reader.places() ? kExpectedHead : landing.size());
  ssize_t n;
  do {
    ++stats.system_calls;
    n = used == 1 ? receive_now(fd.get(), landing.data(), wanted) : readv(fd.get(), iov, used);
  } while (n < 0 && errno == EINTR);
  return n;
}

std::span<const std::byte> TcpConnection::sort_out(Landing& landing, std::size_t got, std::vector<std::byte>& spoilt) {
  const auto expected = reader.expected();
  if (expected.empty()) {
    const std::size_t placed = std::min(got, reader.target().size());
    if (placed > 0) reader.advance(placed);
    return std::span<const std::byte>(landing).first(got - placed);
  }
  const auto begin = std::span<const std::byte>(landing).first<kExpectedHead>();
  if (got <= kExpectedHead) return reader.expect_nothing(), begin.first(got);
  const std::size_t placed = got - kExpectedHead;
  if (reader.meets(begin)) return reader.advance(placed), std::span<const std::byte>{};
  guess_after = kGuessAfter;
  spoilt.assign(begin.begin(), begin.end());
  spoilt.insert(spoilt.end(), expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(placed));
  return spoilt;
}

TcpConnection::Read TcpConnection::end_of_stream(ssize_t n) {
  reader.expect_nothing();
  if (n < 0 && is_full(errno)) return Read::drained;
  if (n < 0)
    failure = lost(errno);
  else if (reader.between_frames())
    failure = {Errc::lost, "closed by the peer"};
  else
    failure = {Errc::lost, fmt::format("closed by the peer in the middle of a message ({})", reader.position())};
  return Read::failed;
}

TcpConnection::Sent TcpConnection::write_failed(int error) {
  if (is_full(error)) return Sent::some;
  failure = lost(error);
  return Sent::failed;
}

TcpConnection::Sent TcpConnection::flush(TransportStats& stats) {
  while (!out.empty()) {
    iovec iov[kGatherMax];
    msghdr message{};
    message.msg_iov = iov;
    message.msg_iovlen = out.gather(iov);
    ++stats.system_calls;
    const ssize_t n = net::send_now(fd.get(), message);
    if (n < 0) {
      if (errno == EINTR) continue;
      return write_failed(errno);
    }
    stats.bytes_out += static_cast<std::size_t>(n);
    out.sent(static_cast<std::size_t>(n));
  }
  return Sent::all;
}

TcpConnection::Sent TcpConnection::send_now(std::span<const std::byte> frame_header, std::span<const std::byte> head,
                                            const Payload& body, TransportStats& stats, bool in_row) {
  iovec iov[3];
  std::size_t used = 0;
  for (const auto part : {frame_header, head, body.bytes})
    if (!part.empty()) iov[used++] = {const_cast<std::byte*>(part.data()), part.size()};
  msghdr message{};
  message.msg_iov = iov;
  message.msg_iovlen = used;
  const std::size_t bytes = frame_header.size() + head.size() + body.bytes.size();
  const bool shares = in_row && row.shares(bytes, [&] { return backlog_of(fd.get()); });
  if (!in_row) row.end();  // This message takes everything along.
  ssize_t n;
  do {
    ++stats.system_calls;
    n = net::send_now(fd.get(), message, shares ? MSG_MORE : 0);
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    if (write_failed(errno) == Sent::failed) return Sent::failed;
    n = 0;
  }
  stats.bytes_out += static_cast<std::size_t>(n);
  if (static_cast<std::size_t>(n) == bytes) {
    if (shares && PacketRow::is_stuck(backlog_of(fd.get()))) end_row();
    return Sent::all;
  }
  end_row();
  out.push(frame_header, head, body, static_cast<std::size_t>(n));
  return Sent::some;
}

void TcpConnection::wake_from(std::size_t bytes, TransportStats& stats) {
  const int value = static_cast<int>(bytes);
  if (wakes_from == bytes) return;
  ++stats.system_calls;
  // If this fails the old value stays: then we wake earlier, or the time limit ends the wait.
  if (setsockopt(fd.get(), SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value) == 0) wakes_from = bytes;
}

bool TcpConnection::has_unread_input() const {
  int bytes = 0;
  return ioctl(fd.get(), FIONREAD, &bytes) == 0 && bytes > 0;
}

}  // namespace sumac::net
