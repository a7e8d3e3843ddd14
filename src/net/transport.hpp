#pragma once
// Framed messages between two processes. One small interface has two backends: tcp (our own: epoll, no thread) and ucx
// (active messages, for RDMA fabrics). A transport belongs to one thread, and nothing in it blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/payload.hpp"
#include "base/result.hpp"
#include "net/address.hpp"

namespace sumac::net {

/// The time for poll() and epoll_wait(), rounded up: a caller that woke just before the time would find nothing due.
inline int wait_milliseconds(Duration at_most) noexcept {
  return static_cast<int>(std::clamp(std::chrono::ceil<Millis>(at_most), Millis{0}, Millis{3'600'000}).count());
}

/// The same as wait_milliseconds() for calls that take an exact time.
inline timespec wait_time(Duration at_most) noexcept {
  const auto cut = std::clamp<Duration>(at_most, Duration{0}, Seconds{3'600});
  const auto seconds = std::chrono::duration_cast<Seconds>(cut);
  return {seconds.count(), static_cast<long>((cut - seconds) / Nanos{1})};
}

/// A connection of one transport. 0 is none. The id of a closed connection is not reused soon, because it contains a
/// generation.
struct ConnId {
  std::uint32_t value = 0;
  friend bool operator==(ConnId, ConnId) = default;
  explicit operator bool() const { return value != 0; }
};

/// Only tcp counts system_calls; UCX does not report them.
struct TransportStats {
  std::uint64_t messages_in = 0, messages_out = 0, bytes_in = 0, bytes_out = 0, system_calls = 0;
  /// Those of messages_in whose bytes were received in their final memory, without a copy.
  std::uint64_t placed = 0;
  std::uint64_t displaced = 0;  ///< Strangers that another one displaced.
  /// Connections that were not accepted, because no descriptor was left or connections_max was reached. tcp only.
  std::uint64_t turned_away = 0;
};

/// Receives the events of a transport. It is called only from inside progress(), and may call send() and close() on any
/// connection, but not progress().
class TransportEvents {
 public:
  virtual void on_accepted(ConnId conn) = 0;   ///< A peer connected to our listener.
  virtual void on_connected(ConnId conn) = 0;  ///< Our connect() succeeded. Messages sent before were queued.
  /// One whole message: head and body are one contiguous range at the start of `frame` (size = head + body), aligned to
  /// 64 bytes. The receiver may keep the reference, write into the buffer if it is unique, and send it on.
  virtual void on_message(ConnId conn, BufferRef frame) = 0;
  /// With TransportConfig::place_from: a message of `bytes` bytes has begun with `head`, and all earlier
  /// ones are delivered. Returns the memory for all its other bytes, which must stay valid until on_placed(), detach(),
  /// close() or on_closed(). If it is empty, the whole message comes by on_message(), which may also happen after
  /// detach(). It must not call the transport.
  virtual std::span<std::byte> on_head(ConnId /*conn*/, std::span<const std::byte, 64> /*head*/,
                                       std::size_t /*bytes*/) {
    return {};
  }
  /// Called after a placed message, when everything is delivered and before more is read. If exactly one message is
  /// awaited, it sets the message's head and returns the memory for its other bytes. That memory may be overwritten:
  /// another message is received there and moved out again. That message is also delivered some milliseconds late,
  /// because a part of the expected message causes no wake-up. Returns an empty range if the next message is unknown,
  /// or if another message is urgent.
  virtual std::span<std::byte> on_expect(ConnId /*conn*/, std::span<std::byte, 64> /*head*/) { return {}; }
  /// The bytes lie in the memory that on_head() or on_expect() returned; `head` is the one seen there.
  virtual void on_placed(ConnId /*conn*/, BufferRef /*head*/) {}
  /// The connection is gone. It is called once per connection, also if connect() failed, but not after our own close().
  virtual void on_closed(ConnId conn, const Error& why) = 0;
  virtual void on_writable(ConnId conn) = 0;            ///< After send() returned `again`: the queue has room.
  virtual void on_readable(std::uint32_t /*token*/) {}  ///< A descriptor of add_reader() is readable.

 protected:
  ~TransportEvents() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// The address that others pass to connect(): "tcp:10.1.0.5:7000", "tcp:[::1]:7000" or "ucx:<hex of the worker
  /// address>". It is text, shorter than wire::kAddressMax, and empty if this transport does not accept connections.
  virtual std::string address() const = 0;
  /// Starts connecting and never blocks. on_connected or on_closed follows. Returns Errc::invalid if this is not an
  /// address of this backend.
  Result<ConnId> connect(std::string_view address) { return connect_by({}, address); }
  /// The same by one of several network interfaces that lead there; empty means the system's choice. tcp only: ucx uses
  /// the devices of TransportConfig::device in any case.
  virtual Result<ConnId> connect_by(std::string_view interface, std::string_view address) = 0;
  /// Queues one message. `head` (at most 256 bytes) is copied. A `body` with an owner is kept by reference; a borrowed
  /// body must stay valid and unchanged until the peer has answered the message, or until detach() or close().
  /// Returns Errc::ok, Errc::again (the queue is full: wait for on_writable), Errc::lost (no such connection),
  /// Errc::invalid (longer than message_max), Errc::exhausted (over limit_held()).
  virtual Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body) = 0;
  /// As send(), for a short message whose sender does not wait for anything: from the ninth on that the peer has not
  /// acknowledged, such messages may share a packet. It leaves with an acknowledgement, with the next send(), or when the
  /// caller looks for messages (progress(), arm()). tcp only.
  virtual Errc send_in_row(ConnId conn, std::span<const std::byte> head, const Payload& body) {
    return send(conn, head, body);
  }
  /// Names the owner (a job) of a connection. Owners are served in rotation, however many connections each of them has.
  /// 0 is the initial value and stands for all strangers together. tcp only: UCX delivers in an order of its own.
  virtual void belongs_to(ConnId /*conn*/, std::uint64_t /*owner*/) {}
  /// From now on at most so many bytes of the pool may wait in this connection's queue; a further message returns
  /// Errc::exhausted. The limit is the sum of what an honest peer may leave unread. SIZE_MAX is the initial value and
  /// means no limit.
  virtual void limit_held(ConnId /*conn*/, std::size_t /*bytes*/) {}
  /// The bytes of the pool that wait in this connection's queue.
  virtual std::size_t held(ConnId /*conn*/) const { return 0; }
  /// The bytes of sent messages that the system has not taken yet, so that borrowed ones are still in use; they leave in
  /// the order of sending, each with 8 bytes more for its frame. 0 for a connection that is gone. On ucx only with
  /// TransportConfig::place_from: otherwise its borrowed bodies are copied.
  virtual std::size_t unsent(ConnId /*conn*/) const { return 0; }
  /// Copies the queued data that this connection borrowed, so that the owner may reuse the memory. Bytes that are being
  /// received in memory from on_head() go elsewhere from now on. ucx with TransportConfig::place_from, which can't copy
  /// them, waits until they are sent and received, and ends the connection after TransportConfig::linger.
  virtual void detach(ConnId conn) = 0;
  /// Drops the connection and its queue; its events end here. With flush = true the queue (detached first) is still
  /// sent, within TransportConfig::linger, while progress() is called; flushing() tells when it is done.
  virtual void close(ConnId conn, bool flush = false) = 0;
  /// The number of connections closed with flush = true whose last bytes are not sent yet.
  virtual std::size_t flushing() const = 0;
  /// Between cork() and uncork() sends are gathered and leave in as few system calls as possible. Outside they leave at
  /// once; those made inside callbacks leave together at the end of progress().
  virtual void cork() = 0;
  virtual void uncork() = 0;
  /// Sets the heartbeat. If we have sent nothing for `every`, the peer gets a ping. It answers when it next reads, and
  /// gets no further ping before that, so nothing piles up at a peer that computes. If nothing was received for
  /// `silent_after`, the connection is closed (Errc::timeout, "silent for N ms"). Unread bytes count as a sign of life,
  /// and time in which this process did not call progress() does not count as silence. 0 turns a limit off; both are 0
  /// initially. Returns Errc::lost if there is no such connection.
  virtual Errc watch(ConnId conn, Millis every, Millis silent_after) = 0;
  /// Returns for how long nothing was received from a watched peer, counted as in watch(): 0 as long as bytes lie
  /// unread, for a peer that is not watched, and for a connection that is gone.
  virtual Duration silence(ConnId conn) const = 0;
  /// Returns true if the peer's host acknowledges nothing: TCP has repeated in vain what was sent three times, or two of
  /// its probes. A process that computes or is stopped is silent, but its host acknowledges. tcp only.
  virtual bool is_unanswered(ConnId /*conn*/) const { return false; }
  /// With TransportConfig::stranger_bytes: the peer has proven its identity and is no stranger any more.
  virtual void admit(ConnId /*conn*/) {}
  /// The reason for the admission is over: the peer counts as a stranger again and may be displaced. tcp only.
  virtual void estrange(ConnId /*conn*/) {}

  /// Does everything that can be done now; returns the number of events delivered. Delivers at most `budget` messages.
  virtual std::size_t progress(TransportEvents& events, std::size_t budget = 64) = 0;
  /// Readable when progress() would find something, provided that arm() returned true just before. It is meant for
  /// epoll; never read from it.
  virtual int wake_fd() const = 0;
  /// Call it before sleeping on wake_fd(). Returns false if there is work already: call progress() instead.
  virtual bool arm() = 0;
  /// Sleeps until progress() would find something, a signal comes, or `at_most` has passed. It keeps the reports for
  /// the next progress(), which then does not ask the system again. Call it after arm(), and only if no other code
  /// calls progress(). Returns false if the time passed and nothing came.
  virtual bool wait(Duration at_most) = 0;
  /// The latest time at which progress() must be called even if wake_fd() stays quiet (time limits, watches). kNever
  /// means no limit.
  virtual Time next_due() const = 0;

  /// Adds a descriptor of another owner, which is waited for together with the connections: on_readable(token) follows
  /// whenever a pass finds it readable. It costs nothing while nothing arrives. Returns Errc::unsupported on ucx.
  virtual Errc add_reader(int /*fd*/, std::uint32_t /*token*/) { return Errc::unsupported; }
  virtual void remove_reader(int /*fd*/) {}

  /// The connection's socket, for a thread that only waits for its end; -1 on ucx and for a connection that is gone.
  virtual int descriptor(ConnId /*conn*/) const { return -1; }
  /// The address of our end, "10.1.0.5:43210"; empty on ucx and for a connection that is gone.
  virtual std::string local(ConnId /*conn*/) const { return {}; }
  virtual std::string peer(ConnId conn) const = 0;  ///< For messages to people: "10.1.0.5:43210".
  virtual const TransportStats& stats() const = 0;
};

struct TransportConfig {
  std::string backend = "tcp";  ///< The backend: "tcp" or "ucx".
  /// tcp: "ADDR:PORT" ("0.0.0.0:0" picks a port); empty means no listener. ucx: any text means that it accepts
  /// connections.
  std::string listen;
  /// The interface whose address is published ("eth0") by a listener at all addresses; empty means that of `publish`,
  /// otherwise best_interface(). For ucx the devices that it may use ("mlx5_0:1,mlx5_1:1").
  std::string device;
  /// The address to publish in place of 0.0.0.0 or [::]. A listener at 0.0.0.0 that publishes an IPv6 address listens
  /// at [::]. For ucx its interface is the device.
  std::optional<SocketAddress> publish{};
  std::size_t message_max = (1u << 20) + 256;  ///< A longer frame ends the sender's connection.
  std::size_t queue_max = 8u << 20;            ///< The bytes queued on one connection before send() returns `again`.
  /// The most messages that may wait to be sent on an accepted connection; above it, nothing more is read from the
  /// connection until its peer has taken half of them. It is meant for servers: a peer that sends requests and never
  /// reads only harms itself. 0 means no limit. tcp only. Never set it on both ends of a connection, because each would
  /// wait for the other.
  std::size_t answers_max = 0;
  /// For messages of at least so many bytes the receiver chooses the memory, see TransportEvents::on_head(). 0 means
  /// for none. On ucx a message whose head has 64 bytes and that nothing undelivered precedes.
  std::size_t place_from = 0;
  std::size_t connections_max = 4096;  ///< The most connections; further ones are closed as soon as they are accepted.
  /// If not 0, an accepted peer is a stranger until admit(). A stranger's messages have at most so many bytes (tcp), it
  /// may stay for handshake_timeout, and at most strangers_max are connected at once: a further one displaces the
  /// oldest, so that strangers never use up the connections of others.
  std::size_t stranger_bytes = 0, strangers_max = 512;
  Millis handshake_timeout{5000};  ///< From connect() or accept to the peer's greeting; for a stranger, to admit().
  Millis linger{2000};             ///< The time limit of close(flush).
  /// tcp: bytes that stay unacknowledged for so long close the connection (a pulled cable).
  Millis user_timeout{20000};
};

/// The peer's end, parsed from the reason of on_closed().
struct PeerEnd {
  std::string host;   ///< The peer's address, such as "10.77.0.6"; on ucx the name of its host.
  Millis silence{0};  ///< The time for which it was silent; 0 if the connection ended.
};
PeerEnd peer_end(const Error& why);

/// Why our own connection was never one, parsed from the reason of on_closed(): its host said that nobody listens there, or nothing came
/// from it. No: it was one, or another reason.
enum class Unreached : std::uint8_t { no, refused, silent };
Unreached unreached(const Error& why);

/// The most memory that connections and their queues can take beside the pool, provided that answers_max is set.
std::size_t queue_bytes_max(const TransportConfig& config) noexcept;

/// Returns Errc::unsupported if the backend is not built in or cannot run here; the text names it and the remedy.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config, BufferPool& pool);

}  // namespace sumac::net
