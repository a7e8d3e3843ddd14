#pragma once
// The manager's TCP port with mutual TLS. gRPC's own TLS would keep whatever the owner of a certificate sends
// (unfinished_calls.hpp), so the handshake and the decryption are ours, and gRPC gets clear text from a Relay.
// A call's identity is the certificate of its connection, found by a name that no other connection ever has.
#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "base/log_limit.hpp"
#include "control/local_server.hpp"
#include "control/relay.hpp"
#include "control/tls.hpp"

namespace sumac::control {

class TlsServer {
 public:
  /// `endpoint` is ADDR:PORT; port 0 chooses a free one. Returns Errc::io if the address is in use or not of this
  /// machine. `log`, unless it is null, gets a line a minute for callers that are turned away.
  static Result<std::unique_ptr<TlsServer>> start(const std::string& endpoint, const Tls& tls, const MakeService& make,
                                                  const Logger* log);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  /// The returned address contains the port that was actually bound.
  const std::string& endpoint() const noexcept { return endpoint_; }

 private:
  using Id = Relay::Id;
  /// The holders of the certificates of all open connections, by the name that gRPC reports.
  class Holders {
   public:
    void put(const std::string& peer, Result<Identity> who);
    void drop(const std::string& peer);
    Result<Caller> caller(const std::string& peer) const;

   private:
    mutable std::mutex mutex_;
    std::unordered_map<std::string, Result<Identity>> by_peer_;
  };

  TlsServer(std::unique_ptr<SSL_CTX, SslDelete> context, Relay relay, WakeEvent stop, const Logger* log);
  Result<> listen(const std::string& endpoint);
  Result<> serve(const MakeService& make);
  void run();
  bool accept_some(Time now);
  void shake_hands(Id id, Time now);
  void established(Id id, CallerSocket socket, Time now);
  void turn_away(std::string_view why, Time now);
  void move(Time now);
  void expire(Time now);
  Time next_deadline() const noexcept;
  std::string peer_name(Id id) const { return fmt::format("{}-{}", prefix_, id); }

  std::unique_ptr<SSL_CTX, SslDelete> context_;
  Relay relay_;
  WakeEvent stop_;
  const Logger* log_;
  LogLimit log_limit_;
  std::string endpoint_;
  std::string prefix_;  ///< The connections' names begin with it. It is random, so no other process has them.
  UniqueFd listener_, epoll_;
  std::map<Id, CallerSocket> handshakes_;
  std::size_t handshakes_max_;  ///< A further one closes the oldest.
  std::deque<std::pair<Time, Id>>
      deadlines_;  ///< The handshakes' time limits, ended ones included; the oldest comes first.
  Id last_id_;
  Holders holders_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;  // After the members that its calls use.
  std::thread thread_;
};

}  // namespace sumac::control
