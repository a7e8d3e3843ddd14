#pragma once
// Framed messages between two processes. One small interface, two backends: tcp (ours: epoll, no thread, no surprise) and ucx
// (active messages; for RDMA fabrics). A transport belongs to one thread; nothing in it blocks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/buffer.hpp"
#include "base/clock.hpp"
#include "base/payload.hpp"
#include "base/result.hpp"

namespace sumac::net {

/// As poll() and epoll_wait() take it: rounded up, so that nobody wakes just before the time and finds nothing due.
inline int wait_milliseconds(Duration at_most) noexcept {
  return static_cast<int>(std::clamp(std::chrono::ceil<Millis>(at_most), Millis{0}, Millis{3'600'000}).count());
}

/// The same for calls that take it exactly.
inline timespec wait_time(Duration at_most) noexcept {
  const auto cut = std::clamp<Duration>(at_most, Duration{0}, Seconds{3'600});
  const auto seconds = std::chrono::duration_cast<Seconds>(cut);
  return {seconds.count(), static_cast<long>((cut - seconds) / Nanos{1})};
}

/// A connection of one transport. 0 is none; a closed connection's value is not used again soon (it carries a generation).
struct ConnId {
  std::uint32_t value = 0;
  friend bool operator==(ConnId, ConnId) = default;
  explicit operator bool() const { return value != 0; }
};

/// system_calls: tcp only; UCX does not tell.
struct TransportStats {
  std::uint64_t messages_in = 0, messages_out = 0, bytes_in = 0, bytes_out = 0, system_calls = 0;
  std::uint64_t placed = 0;     ///< Of messages_in: those whose bytes came where they belong without a copy.
  std::uint64_t displaced = 0;  ///< Strangers that another one took the place of. tcp only.
  std::uint64_t turned_away =
      0;  ///< Times a connection could not be taken: no descriptor left, or connections_max. tcp only.
};

/// Who is told. Called only from inside progress(); may call send() and close() on any connection, not progress().
class TransportEvents {
 public:
  virtual void on_accepted(ConnId conn) = 0;   ///< A peer connected to our listener.
  virtual void on_connected(ConnId conn) = 0;  ///< Our connect() went through. Messages sent before this were queued.
  /// One whole message: head and body as one contiguous range at the start of `frame` (size = head + body), 64-byte aligned.
  /// The receiver may keep the reference, write into it if it is unique, and send it on.
  virtual void on_message(ConnId conn, BufferRef frame) = 0;
  /// With TransportConfig::place_from (tcp only): a message of `bytes` bytes has begun like this, and all before it are told. Where do the
  /// other bytes belong? Memory for all of them, which stays as it is until on_placed(), detach(), close() or on_closed(); or empty: the
  /// message comes whole by on_message(), as it also may after detach(). May not call the transport.
  virtual std::span<std::byte> on_head(ConnId /*conn*/, std::span<const std::byte, 64> /*head*/,
                                       std::size_t /*bytes*/) {
    return {};
  }
  /// Asked behind a placed message, all told, before more is read: if only one message is waited for, how it begins, and where its other
  /// bytes belong. That memory may be spoilt: what comes instead is received there and taken out again; and it is told of some
  /// milliseconds later, since no part of what is expected wakes anybody. Empty: nobody knows, or something else is in a hurry.
  virtual std::span<std::byte> on_expect(ConnId /*conn*/, std::span<std::byte, 64> /*head*/) { return {}; }
  /// They lie where on_head() or on_expect() said; `head` as it was.
  virtual void on_placed(ConnId /*conn*/, BufferRef /*head*/) {}
  /// The connection is gone, once per connection, also when connect() failed; not after our own close().
  virtual void on_closed(ConnId conn, const Error& why) = 0;
  virtual void on_writable(ConnId conn) = 0;            ///< After send() answered `again`: there is room.
  virtual void on_readable(std::uint32_t /*token*/) {}  ///< A descriptor of add_reader() has something.

 protected:
  ~TransportEvents() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// What others pass to connect(): "tcp:10.1.0.5:7000", "tcp:[::1]:7000" or "ucx:<hex of the worker address>". Text, below
  /// wire::kAddressMax. Empty if this transport does not accept connections.
  virtual std::string address() const = 0;
  /// Starts connecting; never blocks. on_connected or on_closed follows. Errc::invalid: not an address of this backend.
  Result<ConnId> connect(std::string_view address) { return connect_by({}, address); }
  /// The same by one network interface of several that lead there; empty: the system's choice. tcp; the devices of ucx are
  /// TransportConfig::device, whatever is said here.
  virtual Result<ConnId> connect_by(std::string_view interface, std::string_view address) = 0;
  /// Queues one message. `head` (at most 256 bytes) is copied. A `body` with an owner is kept by reference; a borrowed body must stay
  /// valid and unchanged until the peer has answered it, or until detach()/close().
  /// Errc::ok, Errc::again (queue full: wait for on_writable), Errc::lost (no such connection), Errc::invalid (over message_max),
  /// Errc::exhausted (over limit_held()).
  virtual Errc send(ConnId conn, std::span<const std::byte> head, const Payload& body) = 0;
  /// Connections of one owner (a job) take turns with those of each other owner, however many they are. 0, as at first: strangers, all
  /// together. tcp only: UCX delivers in an order of its own.
  virtual void belongs_to(ConnId /*conn*/, std::uint64_t /*owner*/) {}
  /// From now on at most so many bytes of the pool may wait in this connection's queue: a message beyond is Errc::exhausted. The sum of
  /// what its peer may honestly leave unread; SIZE_MAX, as it is at first: no such bound.
  virtual void limit_held(ConnId /*conn*/, std::size_t /*bytes*/) {}
  /// Bytes of the pool that wait in this connection's queue.
  virtual std::size_t held(ConnId /*conn*/) const { return 0; }
  /// Copies what is still queued from borrowed memory of this connection, so that the owner may reuse it; and what is landing in memory
  /// that on_head() named lands there no longer.
  virtual void detach(ConnId conn) = 0;
  /// Drops the connection and what is queued; its events end here. flush = true: what is queued (detached first) still goes out,
  /// within TransportConfig::linger, while progress() is called; flushing() says when it is done.
  virtual void close(ConnId conn, bool flush = false) = 0;
  /// Connections closed with flush = true whose last bytes are not out yet.
  virtual std::size_t flushing() const = 0;
  /// Between cork() and uncork() sends are gathered and leave in as few system calls as possible. Outside they leave at once;
  /// those made inside callbacks leave together at the end of progress().
  virtual void cork() = 0;
  virtual void uncork() = 0;
  /// Heartbeats. Where we have sent nothing for `every` the peer is told that we live; it answers when it looks, and is not told again
  /// before, so nothing piles up at one that computes. When nothing came for `silent_after` the connection is closed (Errc::timeout,
  /// "silent for N ms"). Bytes that lie unread are life, and time that this process did not call progress() is not held against the
  /// peer. 0: not told, not judged; both, as at first. Errc::lost: no such connection.
  virtual Errc watch(ConnId conn, Millis every, Millis silent_after) = 0;
  /// With TransportConfig::stranger_bytes: this peer has shown who it is, and is none any more.
  virtual void admit(ConnId /*conn*/) {}
  /// What it was admitted for is over: it counts as a stranger again, and goes when its place is needed. tcp only.
  virtual void estrange(ConnId /*conn*/) {}

  /// Does what can be done now; returns the number of events delivered. Delivers at most `budget` messages.
  virtual std::size_t progress(TransportEvents& events, std::size_t budget = 64) = 0;
  /// Readable when progress() would find something, provided arm() returned true just before. Good for epoll; never read from it.
  virtual int wake_fd() const = 0;
  /// Call before sleeping on wake_fd(). False: there is work already, call progress() instead.
  virtual bool arm() = 0;
  /// Sleeps until progress() would find something, a signal comes, or `at_most` has passed, and keeps what woke it for the next progress(),
  /// which then does not ask the system again. After arm(); only who alone calls progress(). False: the time is over, nothing came.
  virtual bool wait(Duration at_most) = 0;
  /// When progress() has to be called at the latest even though wake_fd() stays quiet (time limits, watches). kNever: no need.
  virtual Time next_due() const = 0;

  /// A descriptor that is not the transport's own, waited for with its connections: on_readable(token) follows whenever a pass finds
  /// it readable. Costs nothing while nothing comes. Errc::unsupported on ucx.
  virtual Errc add_reader(int /*fd*/, std::uint32_t /*token*/) { return Errc::unsupported; }
  virtual void remove_reader(int /*fd*/) {}

  /// The address of our end, "10.1.0.5:43210"; empty on ucx and of a connection that is gone.
  virtual std::string local(ConnId /*conn*/) const { return {}; }
  virtual std::string peer(ConnId conn) const = 0;  ///< For messages to people: "10.1.0.5:43210".
  virtual const TransportStats& stats() const = 0;
};

struct TransportConfig {
  std::string backend = "tcp";  ///< "tcp" or "ucx".
  std::string listen;  ///< tcp: "ADDR:PORT" ("0.0.0.0:0" picks a port), empty: no listener. ucx: non-empty = accepts.
  /// Interface whose address is published ("eth0"); empty: the first one that is not loopback, else lo. ucx: those it may use
  /// ("mlx5_0:1,mlx5_1:1").
  std::string device;
  std::size_t message_max = (1u << 20) + 256;  ///< A longer frame costs its sender the connection.
  std::size_t queue_max = 8u << 20;            ///< Bytes queued on one connection before send() answers `again`.
  /// Messages that wait to go out on an accepted connection; above, nothing more is read from it until its peer has taken half of
  /// them. For who answers: a peer that asks and never reads costs itself. 0: no such bound. tcp only. Never set on both ends
  /// of a connection: each would wait for the other.
  std::size_t answers_max = 0;
  /// Messages from so many bytes on ask where they belong, see TransportEvents::on_head(). 0: none does. tcp only.
  std::size_t place_from = 0;
  std::size_t connections_max = 4096;  ///< Further ones are closed as soon as they are accepted.
  /// Not 0: who is accepted is a stranger until admit(). A stranger's messages have at most so many bytes (tcp), it is there for
  /// handshake_timeout at most, and no more than strangers_max are there at once: another one takes the place of the oldest (tcp), so that
  /// they take nobody else's.
  std::size_t stranger_bytes = 0, strangers_max = 512;
  Millis handshake_timeout{5000};  ///< From connect() or accept to the peer's greeting, of a stranger to admit().
  Millis linger{2000};             ///< What close(flush) may take at most.
  Millis user_timeout{20000};      ///< tcp: bytes unacknowledged for so long close the connection (cable pulled).
};

/// The peer's end, as on_closed()'s reason tells it.
struct PeerEnd {
  std::string host;   ///< "10.77.0.6"; on ucx its name.
  Millis silence{0};  ///< It was silent for so long; 0: the connection ended.
};
PeerEnd peer_end(const Error& why);

/// Most that connections and their queues can take beside the pool, provided answers_max is set.
std::size_t queue_bytes_max(const TransportConfig& config) noexcept;

/// Errc::unsupported: the backend is not built in or can't run here; the text says which and what to do.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config, BufferPool& pool);

}  // namespace sumac::net
