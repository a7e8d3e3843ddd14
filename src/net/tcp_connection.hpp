#pragma once
// One TCP connection: reads into buffers, writes from its queue, says how it ended. It knows no epoll and calls nobody: the
// transport asks it to receive and to flush, and takes what came out.
#include <array>
#include <string>
#include <vector>

#include "base/private_fd.hpp"
#include "net/heartbeat.hpp"
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
  TcpConnection(ConnId conn, PrivateFd socket, bool connector, BufferPool& pool, const TransportConfig& config)
      : id(conn),
        fd(std::move(socket)),
        is_connector(connector),
        state(connector ? TcpState::connecting : TcpState::greeting),
        reader(pool, connector ? FrameType::welcome : FrameType::hello, config.message_max, config.place_from) {}

  enum class Read : std::uint8_t { drained, more, stalled, asks, ended };
  /// One read; calls `take(Frame&&)` for each complete frame. `more`: the kernel probably has more. `stalled`: no buffer, call
  /// resume() later. `asks`: where a message belongs; call reader.place(), then resume(). `ended`: `why` is set. take() may not destroy
  /// the connection.
  template <class Take>
  Read receive(Landing& landing, TransportStats& stats, Take&& take);
  /// Goes on with what a read that stalled or asked left behind.
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
  /// Fewer bytes than this are not reported.
  void wake_from(std::size_t bytes, TransportStats& stats);

  ConnId id;
  PrivateFd fd;
  bool is_connector;
  TcpState state;
  FrameReader reader;
  OutQueue out;
  std::string peer_name;
  std::uint32_t peer_message_max = 0;  ///< 0: not heard yet.
  std::size_t held_max = SIZE_MAX;     ///< Of the pool's bytes, in `out`.
  Error why;

  // The transport's notes.
  std::uint64_t owner = 0,
                served = 0;  ///< served: number of its last turn, while more is ready than one pass can take.
  bool in_armed = true, out_armed = false;  ///< What epoll watches.
  bool dirty = false;                       ///< On the list of those to flush.
  bool tell_writable = false;               ///< send() answered `again`.
  bool stalled = false;                     ///< On the list of those that wait for a buffer.
  bool asks = false;                        ///< On the list of those that ask where a message belongs.
  bool muted = false;                       ///< Not read until the peer has taken answers.
  bool drained = false;                     ///< The last read got less than there was room for.
  bool follows = false;                     ///< On the list of those where one large message follows another.
  std::size_t wakes_from = 1;
  Time read_at{};          ///< For the last time.
  int guess_after = 0;     ///< Messages before it is worth guessing again what comes next.
  int reads_left = 0;      ///< Of this pass.
  bool pong_owed = false;  ///< One is in the queue: it answers all pings so far.
  bool disowned = false;   ///< close(flush): the queue goes out, then the peer's end of stream is awaited.
  bool shut = false;       ///< Our direction has ended.
  bool stranger = false;   ///< It was accepted, and nobody has said admit() yet.
  Time deadline = kNever;  ///< Of connecting, greeting and flushing.
  Heartbeat heartbeat;

 private:
  ssize_t read_some(Landing& landing, std::size_t& wanted, TransportStats& stats);
  /// After a read: what is not in place. `spoilt`: memory for it where something else came than was expected.
  std::span<const std::byte> sort_out(Landing& landing, std::size_t got, std::vector<std::byte>& spoilt);
  Read end_of_stream(ssize_t n);
  template <class Take>
  Read parse(std::span<const std::byte> in, Take&& take);
  Errc write_failed(int error);

  std::vector<std::byte> left_;  ///< Bytes read that wait for a buffer, or for an answer.
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
      case FrameReader::Got::malformed: fail_with(Errc::invalid, reader.flaw()); return Read::ended;
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
  if (left_.empty()) {  // the memory serves again
    in.clear();
    left_.swap(in);
  }
  return read;
}

}  // namespace sumac::net
