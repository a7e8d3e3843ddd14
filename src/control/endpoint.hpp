#pragma once
// The two ends of a connection between daemons. On one machine it is a unix socket, where the kernel names the user at
// the other end. Between machines it is TCP with mutual TLS, or clear text if the operator declares the network private
// (--allow-insecure).
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "control/caller.hpp"
#include "control/local_server.hpp"
#include "control/places.hpp"
#include "control/tls.hpp"
#include "control/tls_server.hpp"

namespace sumac::control {

/// 65,536 hosts in one JobBegin fit. A longer message ends its stream.
inline constexpr int kMessageBytesMax = 8 << 20;
/// An ordinary user only asks, in a few words; a tool watches one stream and makes calls beside it.
inline constexpr int kStrangerMessageBytesMax = 64 << 10, kStrangerStreams = 4;
/// The limits of what callers begin and do not end (relay.hpp). A daemon keeps one stream open, and a tool has some calls
/// beside it; gRPC tells an ordinary user of kStrangerStreams, but only after his first bytes.
inline constexpr std::uint32_t kDaemonCalls = 256, kStrangerCalls = 64;
/// The bytes of one certificate's holder, and of all; of one ordinary user, and of all.
inline constexpr std::size_t kDaemonUnfinishedBytesMax = std::size_t{16} << 20,
                             kAllDaemonsUnfinishedBytesMax = std::size_t{512} << 20,
                             kStrangerUnfinishedBytesMax = std::size_t{1} << 20,
                             kAllStrangersUnfinishedBytesMax = std::size_t{8} << 20;
/// The connections of one certificate's holder: a daemon has one, and a person's tools some.
inline constexpr std::size_t kDaemonConnections = 64;
/// The memory of gRPC for connections and what they bring: of all daemons (10,000 hosts have some tens of KiB each), and
/// of all ordinary users. Beyond it gRPC ends streams.
inline constexpr std::size_t kDaemonsMemory = std::size_t{1} << 30, kStrangersMemory = std::size_t{16} << 20;

/// True for an address such as "unix:/run/sumac-am/am.sock".
bool is_unix(std::string_view endpoint) noexcept;

/// Returns Errc::invalid, with the remedy, if the endpoint is neither ADDR:PORT nor unix:PATH, or is TCP in clear text
/// without permission.
Result<> check_endpoint(std::string_view endpoint, bool allow_insecure, const Tls* tls = nullptr);
/// Checks each endpoint of a list that is separated by commas.
Result<> check_endpoints(std::string_view list, bool allow_insecure, const Tls* tls = nullptr);

/// Makes a channel to the manager; proxies in the environment are ignored. Over TCP gRPC connects in the background,
/// and again after a loss, at most one second apart; with `tls` the server must show the certificate with this DNS name,
/// the manager's unless another daemon is called. A unix socket is connected once, before this function returns.
/// Returns Errc::lost if no process listens at the unix socket, and Errc::denied if the process that does may not be
/// the manager.
Result<std::shared_ptr<grpc::Channel>> make_channel(const std::string& endpoint, Tls* tls = nullptr,
                                                    const std::string& dns_name = kManagerDnsName);

/// The callers of one server.
enum class Callers { daemons, strangers };
/// Sets what our servers have in common: sizes of messages, streams and memory, keepalive, and the time limit of a
/// handshake.
void set_server_options(grpc::ServerBuilder& builder, Callers callers);

/// A gRPC server at one endpoint or several. The destructor ends all calls.
class Server {
 public:
  struct Options {
    const Tls* tls = nullptr;  ///< The certificates for TCP; without them TCP is clear text.
    DaemonUsers users{};
    const Logger* log = nullptr;  ///< Gets a line for callers that fail in the TLS handshake.
  };
  /// `endpoints` is separated by commas. Returns Errc::io or Errc::exists if an address is in use or does not belong to
  /// this machine.
  static Result<Server> start(const std::string& endpoints, const MakeService& make, const Options& options);
  Server(Server&&) = default;
  Server& operator=(Server&&) = default;
  ~Server() { stop(); }

  /// The returned address contains the port that was actually bound.
  const std::string& endpoint() const noexcept { return endpoint_; }
  void stop();

 private:
  struct Bound {
    std::string host;
    int port = 0;
    std::string text() const { return fmt::format("{}:{}", host, port); }
  };
  /// The server of one TCP endpoint in clear text.
  struct Remote {
    std::shared_ptr<Bound> bound;  ///< Calls in progress read it, too.
    std::unique_ptr<grpc::Service> service;
    std::unique_ptr<grpc::Server> server;
  };
  Server() = default;
  static Result<Remote> start_clear(const std::string& endpoint, const MakeService& make, const Options& options);
  Result<std::string> start_one(const std::string& endpoint, const MakeService& make, const Options& options);
  std::vector<Remote> remotes_;
  std::vector<std::unique_ptr<LocalServer>> locals_;
  std::vector<std::unique_ptr<TlsServer>> tls_;
  std::string endpoint_;
};

/// The prefix of an error that a TLS handshake caused. Its code is Errc::lost: the operator may repair it while we
/// retry.
inline constexpr std::string_view kTlsFailure = "TLS: ";

/// The status of a call that a daemon of ours refuses. It bears kRefusedByDaemon as its details.
grpc::Status to_status(const Error& error);
/// gRPC makes statuses of its own with the same codes, but never with details.
inline constexpr const char* kRefusedByDaemon = "sumac";
/// Converts the status of a failed call: lost, timeout, invalid, refused, exhausted or denied. It is exhausted only if a
/// daemon has refused it: gRPC at the other end may have no memory left for the stream, which passes.
Error from_status(const grpc::Status& status);

}  // namespace sumac::control
