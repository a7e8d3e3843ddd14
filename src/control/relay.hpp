#pragma once
// Stands between callers and gRPC: it moves the bytes of each connection to gRPC through a pair of sockets and back, and
// closes a caller that makes gRPC keep more than its share (unfinished_calls.hpp). It has no thread: its owner polls
// fd() and calls progress().
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "control/tls.hpp"
#include "control/unfinished_calls.hpp"

namespace sumac::control {

/// A caller's nonblocking connection, in clear text or by TLS.
struct CallerSocket {
  UniqueFd fd{};
  std::unique_ptr<SSL, SslDelete> tls{};  ///< Null: clear text.
  /// Whether the last read or write waits for the socket to become readable or writable (EPOLLIN, EPOLLOUT; 0: for
  /// neither). TLS may have to write before it can read.
  std::uint32_t read_waits = 0, write_waits = 0;

  /// Both return the bytes that were moved: 0 if none can be moved now, nothing if the connection is over.
  std::optional<std::size_t> read(std::span<std::byte> into);
  std::optional<std::size_t> write(std::span<const std::byte> bytes);
};

class Relay {
 public:
  using Id = std::uint64_t;
  struct Limits {
    CallLimits calls;
    std::size_t share_connections_max = 0;
    std::size_t share_bytes_max = 0;  ///< Unfinished messages of all connections of one share.
    std::size_t bytes_max = 0;        ///< The same of all connections; beyond it the one with the most is closed.
  };
  /// A connection that is over.
  struct Ended {
    Id id = 0;
    std::string share;
    bool exceeded = false;  ///< It was closed because it exceeded a limit.
  };

  static Result<Relay> make(const Limits& limits);
  /// Takes a connection. Returns gRPC's end of it, or Errc::exhausted if the share has too many. `share` names the
  /// person whose limits count. gRPC sees the abstract unix address `name` as its peer, unless it is empty.
  Result<UniqueFd> add(Id id, CallerSocket caller, std::string share, const std::string& name = {});
  /// Moves what can be moved now, and returns the connections that are over.
  std::vector<Ended> progress(Time now);

  int fd() const noexcept { return epoll_.get(); }
  Time next_deadline() const noexcept { return closing_.empty() ? kNever : closing_.front().first; }
  std::size_t unfinished_bytes() const noexcept { return bytes_; }

 private:
  /// Bytes that one side has sent and the other has not taken.
  using Held = std::vector<std::byte>;
  struct Connection {
    CallerSocket caller;
    UniqueFd grpc;  ///< Empty once gRPC has closed its end and all its bytes were read.
    UnfinishedCalls calls;
    std::string share;
    Held up{}, down{};        ///< To gRPC, and to the caller.
    bool is_closing = false;  ///< gRPC has closed its end. It takes nothing, and its last bytes have a time limit.
    bool exceeded = false;
    std::size_t counted = 0;  ///< Its bytes in `bytes_` and in its share.
    std::uint32_t caller_watched = 0, grpc_watched = 0;
  };

  /// A connection that is over, until gRPC has closed its end: so long it keeps what the caller has sent, and that counts.
  struct Leaving {
    UniqueFd grpc;
    std::string share;
    std::size_t counted = 0;
  };

  struct Share {
    std::size_t connections = 0, bytes = 0;
  };

  explicit Relay(const Limits& limits, UniqueFd epoll) : limits_(limits), epoll_(std::move(epoll)) {}
  void close_grpc(Connection& connection);
  bool move(Connection& connection);
  bool move_up(Connection& connection, bool& moved);
  bool move_down(Connection& connection, bool& moved);
  bool count(Connection& connection);
  void uncount(const std::string& share, std::size_t connections, std::size_t bytes);
  bool watch(Id id, Connection& connection);
  void end(Id id, Time now, std::vector<Ended>& ended);
  void gone(Id id);
  void cut_the_largest(Time now, std::vector<Ended>& ended);

  Limits limits_;
  UniqueFd epoll_;
  std::map<Id, Connection> connections_;
  std::map<Id, Leaving> leaving_;
  std::map<std::string, Share, std::less<>> shares_;  ///< Those with a connection, or one that leaves.
  std::size_t bytes_ = 0;
  std::deque<std::pair<Time, Id>> closing_;  ///< One side has closed these; they have until then.
};

}  // namespace sumac::control
