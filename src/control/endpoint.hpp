#pragma once
// Ends of the conversation between daemons. On one machine it goes by unix sockets, where the kernel names the user at the other end; between machines by
// TCP with mutual TLS, or in clear text where the operator says that the network is his own.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/caller.hpp"
#include "control/local_server.hpp"
#include "control/places.hpp"
#include "control/tls.hpp"

namespace sumac::control {

inline constexpr int kMessageBytesMax = 8 << 20;  ///< 65536 hosts in one JobBegin fit; what is longer ends its stream.

/// "unix:/run/sumac-am/am.sock"
bool is_unix(std::string_view endpoint) noexcept;

/// Errc::invalid with the remedy: not ADDR:PORT or unix:PATH, or TCP in clear text without leave.
Result<> check_endpoint(std::string_view endpoint, bool allow_insecure, const Tls* tls = nullptr);
/// Of several with commas between.
Result<> check_endpoints(std::string_view list, bool allow_insecure, const Tls* tls = nullptr);

/// To the manager; no proxy whatever the environment says. Over TCP it connects by itself and again after a loss, at most a second apart, and with `tls`
/// whoever answers must have the manager's certificate. By a unix socket it is one connection, made before this returns.
/// Errc::lost: nobody listens at the unix socket. Errc::denied: somebody does who may not be the manager.
Result<std::shared_ptr<grpc::Channel>> make_channel(const std::string& endpoint, Tls* tls = nullptr);

/// For each server of ours: sizes of messages, keepalive, how long a connection may take to say what it wants.
void set_server_options(grpc::ServerBuilder& builder);

/// Serves at one endpoint or several. The destructor ends all calls.
class Server {
 public:
  struct Options {
    const Tls* tls = nullptr;  ///< Over TCP; without it clear text.
    DaemonUsers users{};
  };
  /// `endpoints` with commas between. Errc::io, exists: an address is in use or not ours.
  static Result<Server> start(const std::string& endpoints, const MakeService& make, const Options& options);
  Server(Server&&) = default;
  Server& operator=(Server&&) = default;
  ~Server() { stop(); }

  const std::string& endpoint() const noexcept { return endpoint_; }  ///< With the ports that were bound.
  void stop();

 private:
  struct Bound {
    std::string host;
    int port = 0;
    std::string text() const { return fmt::format("{}:{}", host, port); }
  };
  /// One TCP endpoint.
  struct Remote {
    std::shared_ptr<Bound> bound;  ///< Read by calls.
    std::unique_ptr<grpc::Service> service;
    std::unique_ptr<grpc::Server> server;
  };
  Server() = default;
  static Result<Remote> start_remote(const std::string& endpoint, const MakeService& make, const Options& options);
  std::vector<Remote> remotes_;
  std::vector<std::unique_ptr<LocalServer>> locals_;
  std::string endpoint_;
};

/// How the words of an error begin that came of a TLS handshake (Errc::lost: it may be mended while we try again).
inline constexpr std::string_view kTlsFailure = "TLS: ";

/// A failed call in our words: lost, timeout, invalid, refused, exhausted, denied.
Error from_status(const grpc::Status& status);

}  // namespace sumac::control
