#pragma once
// One TCP connection, which reads into buffers and writes from its queue. It knows no epoll and calls no one: the
// transport asks it to receive and to flush, and takes the result. Its life and its input are machines of their own
// (tcp_life.hpp, tcp_input.hpp).
#include <array>
#include <string>
#include <vector>

#include "base/private_fd.hpp"
#include "net/heartbeat.hpp"
#include "net/out_queue.hpp"
#include "net/packet_row.hpp"
#include "net/tcp_frame.hpp"
#include "net/tcp_input.hpp"
#include "net/tcp_life.hpp"
#include "net/transport.hpp"

namespace sumac::net {

/// The memory into which a read goes when no frame is in progress: one system call receives a whole small message, or
/// several. Of a large message at most this much is copied; the rest is received in its final memory.
inline constexpr std::size_t kLandingBytes = 8192;
using Landing = std::array<std::byte, kLandingBytes>;

class TcpConnection {
 public:
  TcpConnection(ConnId conn, PrivateFd socket, bool connector, tcp_life::State begin, BufferPool& pool,
                const TransportConfig& config)
      : id(conn),
        fd(std::move(socket)),
        is_connector(connector),
        life(std::move(begin)),
        reader(pool, connector ? FrameType::welcome : FrameType::hello, config.message_max, config.place_from),
        send_max(config.message_max) {}

  enum class Read : std::uint8_t { drained, more, stalled, asks, failed };
  /// Reads once; calls `take(Frame&&)` for each complete frame. Returns `more`: the kernel probably has more.
  /// `stalled`: there is no buffer, call resume() later. `asks`: the memory for a message must be chosen; call
  /// reader.place(), then resume(). `failed`: see failure. take() must not destroy the connection.
  template <class Take>
  Read receive(Landing& landing, TransportStats& stats, Take&& take);
  /// Goes on with the bytes that a read left behind when it stalled or asked.
  template <class Take>
  Read resume(Take&& take);

  enum class Sent : std::uint8_t { all, some, failed };  ///< `some`: the socket is full. `failed`: see failure.
  Sent flush(TransportStats& stats);
  /// Sends what the socket takes now and queues the rest. Only legal with an empty queue, once connected.
  Sent send_now(std::span<const std::byte> frame_header, std::span<const std::byte> head, const Payload& body,
                TransportStats& stats, bool in_row = false);
  /// The packet that messages of a row share leaves now.
  void end_row() noexcept {
    if (row.holds()) push_packet(fd.get());
    row.end();
  }

  bool is_read() const noexcept { return input == tcp_input::State::reading; }
  bool is_disowned() const noexcept { return tcp_life::is_disowned(life); }
  /// Only legal when the connection has ended and its user is to learn why.
  Error take_why();
  bool has_unread_input() const;
  /// Sets the number of unread bytes from which the kernel reports the socket as readable.
  void wake_from(std::size_t bytes, TransportStats& stats);

  ConnId id;
  PrivateFd fd;
  bool is_connector;
  tcp_life::State life;
  tcp_input::State input = tcp_input::State::reading;
  Error failure;  ///< Says why the last read or write failed.
  FrameReader reader;
  OutQueue out;
  PacketRow row;
  std::string peer_name;
  std::size_t send_max;             ///< The longest message that both sides accept.
  std::size_t held_max = SIZE_MAX;  ///< Limits the pool's bytes in `out`.

  // The members below are the transport's notes.
  /// While more is ready than one pass can handle, `served` numbers the moment when the connection was last served.
  std::uint64_t owner = 0, served = 0;
  bool out_armed = false;      ///< epoll reports room for output.
  bool dirty = false;          ///< True if the connection is on the list of those to flush.
  bool is_in_row = false;      ///< True if the connection is on the list of those whose kernel may keep a packet.
  bool tell_writable = false;  ///< True after send() returned `again`.
  bool drained = false;        ///< True if the last read returned fewer bytes than it had room for.
  bool follows = false;        ///< On the list of connections where one large message follows another.
  std::size_t wakes_from = 1;
  Time read_at{};          ///< The time of the last read.
  int guess_after = 0;     ///< The number of messages until the next one is guessed again.
  int reads_left = 0;      ///< The number of reads left in this pass.
  bool pong_owed = false;  ///< True while the queue holds a pong, which answers all pings so far.
  Heartbeat heartbeat;

 private:
  ssize_t read_some(Landing& landing, std::size_t& wanted, TransportStats& stats);
  /// Called after a read: returns the bytes that are not in their final memory. `spoilt` provides memory for them if
  /// another message than the expected one arrived.
  std::span<const std::byte> sort_out(Landing& landing, std::size_t got, std::vector<std::byte>& spoilt);
  Read end_of_stream(ssize_t n);
  Sent write_failed(int error);
  template <class Take>
  Read parse(std::span<const std::byte> in, Take&& take);

  std::vector<std::byte> left_;  ///< Bytes that were read and wait for a buffer, or for the choice of memory.
};

template <class Take>
TcpConnection::Read TcpConnection::parse(std::span<const std::byte> in, Take&& take) {
  for (;;) {
    Frame frame;
    switch (reader.feed(in, frame)) {
      case FrameReader::Got::more: return Read::drained;
      case FrameReader::Got::frame: take(std::move(frame)); break;
      case FrameReader::Got::head: left_.assign(in.begin(), in.end()); return Read::asks;
      case FrameReader::Got::no_buffer: left_.assign(in.begin(), in.end()); return Read::stalled;
      case FrameReader::Got::malformed: failure = {Errc::invalid, reader.flaw()}; return Read::failed;
    }
  }
}

template <class Take>
TcpConnection::Read TcpConnection::receive(Landing& landing, TransportStats& stats, Take&& take) {
  std::size_t wanted = 0;
  const ssize_t n = read_some(landing, wanted, stats);
  if (n <= 0) return end_of_stream(n);
  const auto got = static_cast<std::size_t>(n);
  stats.bytes_in += got;
  std::vector<std::byte> spoilt;
  const Read read = parse(sort_out(landing, got, spoilt), take);
  drained = got < wanted;
  const bool is_awaited = !reader.places() && !reader.target().empty();
  return read == Read::drained && (!drained || is_awaited) ? Read::more : read;
}

template <class Take>
TcpConnection::Read TcpConnection::resume(Take&& take) {
  std::vector<std::byte> in;
  in.swap(left_);
  const Read read = parse(in, take);
  if (left_.empty()) {  // The memory of the vector is kept for the next read.
    in.clear();
    left_.swap(in);
  }
  return read;
}

}  // namespace sumac::net
