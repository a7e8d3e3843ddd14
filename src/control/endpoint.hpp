#pragma once
// Ends of the conversation between daemons: mutual TLS, or clear text, which stays on this machine (loopback or a unix socket)
// unless the operator says that the network is his own.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/tls.hpp"

namespace sumac::control {

inline constexpr int kMessageBytesMax = 8 << 20;  ///< 65536 hosts in one JobBegin fit; what is longer ends its stream.

/// "127.0.0.1:6126", "[::1]:6126", "localhost:6126", "unix:/run/sumac/am.sock": nobody else's machine hears it.
bool is_local(std::string_view endpoint) noexcept;

/// Errc::invalid with the remedy: not ADDR:PORT or unix:PATH, or clear text off this machine without leave.
Result<> check_endpoint(std::string_view endpoint, bool allow_insecure, const Tls* tls = nullptr);

/// To the manager. Connects by itself and again after a loss, at most a second apart; no proxy whatever the environment says.
/// With `tls`: whoever answers must have the manager's certificate.
std::shared_ptr<grpc::Channel> make_channel(const std::string& endpoint, Tls* tls = nullptr);

/// A serving endpoint; `port` is what was bound (0 for unix sockets). The destructor ends all calls.
class Server {
 public:
  /// Errc::io: the address is in use or not ours.
  static Result<Server> start(const std::string& endpoint, grpc::Service& service, const Tls* tls = nullptr);
  Server(Server&&) = default;
  Server& operator=(Server&&) = default;
  ~Server() { stop(); }

  int port() const noexcept { return port_; }
  const std::string& endpoint() const noexcept { return endpoint_; }  ///< With the port that was bound.
  void stop();

 private:
  Server(std::unique_ptr<grpc::Server> server, std::string endpoint, int port)
      : server_(std::move(server)), endpoint_(std::move(endpoint)), port_(port) {}
  std::unique_ptr<grpc::Server> server_;
  std::string endpoint_;
  int port_ = 0;
};

/// How the words of an error begin that came of a TLS handshake (Errc::lost: it may be mended while we try again).
inline constexpr std::string_view kTlsFailure = "TLS: ";

/// A failed call in our words: lost, timeout, invalid, refused, exhausted, denied.
Error from_status(const grpc::Status& status);

}  // namespace sumac::control
