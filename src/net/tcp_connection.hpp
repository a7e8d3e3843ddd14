#pragma once
// One TCP connection: reads into buffers, writes from its queue, says how it ended. It knows no epoll and calls nobody: the
// transport asks it to receive and to flush, and takes what came out.
#include <array>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "net/out_queue.hpp"
#include "net/tcp_frame.hpp"
#include "net/transport.hpp"

namespace sumac::net {

/// Where a read lands when no frame is in progress: one system call gets a whole small message, or several. Of a large message
/// at most this much is copied; its rest is received in place.
inline constexpr std::size_t kLandingBytes = 8192;
using Landing = std::array<std::byte, kLandingBytes>;

enum class TcpState : std::uint8_t {
  connecting,  ///< The kernel's handshake.
  greeting,    ///< Ours: hello or welcome is awaited.
  open,
  dead,  ///< `why` is set; on_closed is under way.
};

class TcpConnection {
 public:
  TcpConnection(ConnId conn, UniqueFd socket, bool connector, BufferPool& pool, std::size_t message_max)
      : id(conn),
        fd(std::move(socket)),
        is_connector(connector),
        state(connector ? TcpState::connecting : TcpState::greeting),
        reader(pool, connector ? FrameType::welcome : FrameType::hello, message_max) {}

  enum class Read : std::uint8_t { drained, more, stalled, ended };
  /// One read; calls `take(Frame&&)` for each complete frame. `more`: the kernel probably has more. `stalled`: no buffer, call
  /// resume() later. `ended`: `why` is set. take() may not destroy the connection.
  template <class Take>
  Read receive(Landing& landing, TransportStats& stats, Take&& take);
  /// Goes on with what a read without buffers left behind.
  template <class Take>
  Read resume(Take&& take);

  /// Errc::ok: all is out. Errc::again: the socket is full. Errc::lost: `why` is set.
  Errc flush(TransportStats& stats);
  /// Sends now what the socket takes and queues the rest. Only with an empty queue in state open.
  Errc send_now(std::span<const std::byte> frame_header, std::span<const std::byte> head, const Payload& body,
                TransportStats& stats);

  /// First reason counts.
  void fail_with(Errc code, std::string text);
  bool has_unread_input() const;

  ConnId id;
  UniqueFd fd;
  bool is_connector;
  TcpState state;
  FrameReader reader;
  OutQueue out;
  std::string peer_name;
  std::uint32_t peer_message_max = 0;  ///< 0: not heard yet.
  Error why;

  // The transport's notes.
  bool in_armed = true, out_armed = false;  ///< What epoll watches.
  bool dirty = false;                       ///< On the list of those to flush.
  bool tell_writable = false;               ///< send() answered `again`.
  bool stalled = false;                     ///< On the list of those that wait for a buffer.
  bool muted = false;                       ///< Not read until the peer has taken answers.
  bool pong_owed = false;                   ///< One is in the queue: it answers all pings so far.
  bool disowned = false;   ///< close(flush): the queue goes out, then the peer's end of stream is awaited.
  bool shut = false;       ///< Our direction has ended.
  Time deadline = kNever;  ///< Of connecting, greeting and flushing.
  Duration watch_every{0}, watch_silent_after{0};
  Time heard_at{}, asked_at = kNever;  ///< asked_at: of the ping that nobody answered yet.

 private:
  ssize_t read_some(Landing& landing, std::size_t& wanted, TransportStats& stats);
  Read end_of_stream(ssize_t n);
  template <class Take>
  Read parse(std::span<const std::byte> in, Take&& take);
  Errc write_failed(int error);

  std::vector<std::byte> left_;  ///< Bytes read that wait for a buffer.
};

template <class Take>
TcpConnection::Read TcpConnection::parse(std::span<const std::byte> in, Take&& take) {
  for (;;) {
    Frame frame;
    switch (reader.feed(in, frame)) {
      case FrameReader::Got::more: return Read::drained;
      case FrameReader::Got::frame: take(std::move(frame)); break;
      case FrameReader::Got::no_buffer: left_.assign(in.begin(), in.end()); return Read::stalled;
      case FrameReader::Got::malformed: fail_with(Errc::invalid, reader.flaw()); return Read::ended;
    }
  }
}

template <class Take>
TcpConnection::Read TcpConnection::receive(Landing& landing, TransportStats& stats, Take&& take) {
  std::size_t wanted = 0;
  const std::size_t in_place = reader.target().size();
  const ssize_t n = read_some(landing, wanted, stats);
  if (n <= 0) return end_of_stream(n);
  const auto got = static_cast<std::size_t>(n);
  stats.bytes_in += got;
  const std::size_t placed = std::min(got, in_place);
  if (placed > 0) reader.advance(placed);
  const Read read = parse(std::span<const std::byte>(landing).first(got - placed), take);
  return read == Read::drained && (got == wanted || !reader.target().empty()) ? Read::more : read;
}

template <class Take>
TcpConnection::Read TcpConnection::resume(Take&& take) {
  const std::vector<std::byte> in = std::move(left_);
  left_.clear();
  return parse(in, take);
}

}  // namespace sumac::net
