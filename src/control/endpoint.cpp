#include "control/endpoint.hpp"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/resource_quota.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

namespace sumac::control {
namespace {

struct Parts {
  std::string_view host, port;
};

Parts split(std::string_view endpoint) noexcept {
  const auto colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) return {};
  auto host = endpoint.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return {};  // an IPv6 address needs its brackets
  }
  return {host, endpoint.substr(colon + 1)};
}

/// gRPC prints its own lines for failures that we report in one line. They can be switched on with GRPC_VERBOSITY as
/// usual. protobuf prints a line for each message that it cannot read, so strangers could fill the log; the failed call
/// is the answer to them. A fatal fault of protobuf's ends the process, so its reason must be printed.
void quiet_grpc() {
  static const bool once = [] {
    google::protobuf::SetLogHandler(
        [](google::protobuf::LogLevel level, const char* file, int line, const std::string& text) {
          if (level == google::protobuf::LOGLEVEL_FATAL) fmt::print(stderr, "protobuf {}:{}: {}\n", file, line, text);
        });
    if (std::getenv("GRPC_VERBOSITY") == nullptr)
      gpr_set_log_function([](gpr_log_func_args* args) {
        // A failed assertion aborts the process, so its reason must be printed.
        if (std::string_view(args->message).find("assertion") != std::string_view::npos)
          fmt::print(stderr, "gRPC {}:{}: {}\n", args->file, args->line, args->message);
      });
    return true;
  }();
  (void)once;
}

bool is_port(std::string_view text) noexcept {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && port <= 65535;
}

/// Returns a helpful message for a connection that failed in the TLS handshake, or null if it failed elsewhere.
const char* tls_failure(std::string_view words) {
  const auto has = [&](std::string_view part) { return words.find(part) != words.npos; };
  if (has("certificate verify failed") || has("Peer name"))
    return "the process that answers there has no manager's certificate of our authority: --tls-dir here and at "
           "sharp_am must "
           "come from one `sumac pki` directory, and not have expired";
  if (has("wrong version number"))
    return "the process that answers there speaks clear text: give sharp_am --tls-dir, or leave it away "
           "here";
  if (has("Ssl handshake failed") || has("alert"))
    return "the handshake failed: see the log of sharp_am, and whether our certificate has expired";
  if (has("failed to connect") && (has("Socket closed") || has("Endpoint read failed")))
    return "it closes the connection at once: it wants --tls-dir, or rejects the certificate that it was "
           "given there";
  return nullptr;
}

}  // namespace

bool is_unix(std::string_view endpoint) noexcept { return endpoint.starts_with("unix:"); }

Result<> check_endpoint(std::string_view endpoint, bool allow_insecure, const Tls* tls) {
  if (is_unix(endpoint)) {
    const auto path = endpoint.substr(5);
    if (path.empty()) return fail(Errc::invalid, "{}: a path belongs behind unix:", endpoint);
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return fail(Errc::invalid, "{}: the path of a unix socket has at most {} bytes", endpoint,
                  sizeof(sockaddr_un::sun_path) - 1);
    return {};
  }
  const auto [host, port] = split(endpoint);
  if (host.empty() || !is_port(port))
    return fail(Errc::invalid, "{} is no address: write unix:PATH, or ADDR:PORT such as 10.0.0.1:6126", endpoint);
  if (!allow_insecure && tls == nullptr)
    return fail(Errc::invalid,
                "{} would be clear text over TCP, where anybody may pass for anybody: on one machine use unix:PATH, "
                "between machines give --tls-dir (`sumac pki` makes its files), or add --allow-insecure if the network "
                "and its machines are yours alone",
                endpoint);
  return {};
}

Result<> check_endpoints(std::string_view list, bool allow_insecure, const Tls* tls) {
  for (;;) {
    const auto one = list.substr(0, list.find(','));
    if (auto legal = check_endpoint(one, allow_insecure, tls); !legal) return legal;
    if (one.size() == list.size()) return {};
    list.remove_prefix(one.size() + 1);
  }
}

Result<std::shared_ptr<grpc::Channel>> make_channel(const std::string& endpoint, Tls* tls,
                                                    const std::string& dns_name) {
  quiet_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);  // The manager would close the connection.
  // A machine that loses power sends no FIN. The timeouts are generous, so that a busy manager does not count as dead.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  if (is_unix(endpoint)) {
    auto fd = connect_local(endpoint.substr(5));
    if (!fd) return tl::unexpected(fd.error());
    return grpc::CreateCustomInsecureChannelFromFd("sharp_am", fd->release(), arguments);
  }
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // This is also the time limit of one attempt to connect.
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (tls == nullptr) return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
  arguments.SetSslTargetNameOverride(dns_name);
  return grpc::CreateCustomChannel(endpoint, tls->for_client(), arguments);
}

void set_server_options(grpc::ServerBuilder& builder, Callers callers) {
  const bool strangers = callers == Callers::strangers;
  // gRPC keeps a message until its last byte has come, before any code of ours runs. The quotas bound what callers can
  // make it keep on all their connections; all servers of the process share them.
  static grpc::ResourceQuota of_daemons("daemons"), of_strangers("strangers");
  of_daemons.Resize(kDaemonsMemory);
  of_strangers.Resize(kStrangersMemory);
  builder.SetResourceQuota(strangers ? of_strangers : of_daemons);
  builder.SetMaxReceiveMessageSize(strangers ? kStrangerMessageBytesMax : kMessageBytesMax);
  if (strangers) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStrangerStreams);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60'000);
  }
  // With port reuse, a second manager on the same port would silently take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10000);
}

Result<Server::Remote> Server::start_clear(const std::string& endpoint, const MakeService& make,
                                           const Options& options) {
  Remote remote;
  remote.bound = std::make_shared<Bound>(Bound{endpoint.substr(0, endpoint.rfind(':')), 0});
  remote.service = make([bound = remote.bound, users = options.users](const grpc::ServerContextBase& context) {
    return clear_text_caller(context.peer(), bound->text(), users);
  });
  grpc::ServerBuilder builder;
  set_server_options(builder, Callers::daemons);
  // gRPC writes the port before it takes the first call, so the calls may read it.
  builder.AddListeningPort(endpoint, grpc::InsecureServerCredentials(), &remote.bound->port);
  builder.RegisterService(remote.service.get());
  remote.server = builder.BuildAndStart();
  if (!remote.server)
    return fail(Errc::io,
                "cannot listen on {}: the address is in use or not of this machine: stop the other process or "
                "choose another with --listen",
                endpoint);
  return remote;
}

/// Returns the address with the port that was bound.
Result<std::string> Server::start_one(const std::string& endpoint, const MakeService& make, const Options& options) {
  if (is_unix(endpoint)) {
    auto local = LocalServer::start(endpoint.substr(5), options.users, make);
    if (!local) return within(fmt::format("cannot listen on {}", endpoint), local.error());
    locals_.push_back(*std::move(local));
    return endpoint;
  }
  if (options.tls != nullptr) {
    auto server = TlsServer::start(endpoint, *options.tls, make, options.log);
    if (!server) return tl::unexpected(server.error());
    tls_.push_back(*std::move(server));
    return tls_.back()->endpoint();
  }
  auto remote = start_clear(endpoint, make, options);
  if (!remote) return tl::unexpected(remote.error());
  remotes_.push_back(*std::move(remote));
  return remotes_.back().bound->text();
}

Result<Server> Server::start(const std::string& endpoints, const MakeService& make, const Options& options) {
  quiet_grpc();
  Server server;
  for (std::string_view list = endpoints;;) {
    const std::string one(list.substr(0, list.find(',')));
    auto bound = server.start_one(one, make, options);
    if (!bound) return tl::unexpected(bound.error());
    server.endpoint_ += (server.endpoint_.empty() ? "" : ",") + *bound;
    if (one.size() == list.size()) return server;
    list.remove_prefix(one.size() + 1);
  }
}

void Server::stop() {
  locals_.clear();
  tls_.clear();
  for (auto& remote : remotes_) {
    // A deadline of now cancels the open streams instead of waiting for them.
    remote.server->Shutdown(std::chrono::system_clock::now());
    remote.server->Wait();
    remote.server.reset();  // The server must be destroyed before the service that it uses.
  }
  remotes_.clear();
}

grpc::Status to_status(const Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case Errc::exists: return grpc::StatusCode::ALREADY_EXISTS;
      case Errc::not_found: return grpc::StatusCode::NOT_FOUND;
      case Errc::unsupported: return grpc::StatusCode::UNIMPLEMENTED;
      case Errc::lost: return grpc::StatusCode::UNAVAILABLE;
      case Errc::denied: return grpc::StatusCode::PERMISSION_DENIED;
      case Errc::exhausted: return grpc::StatusCode::RESOURCE_EXHAUSTED;
      default: return grpc::StatusCode::INVALID_ARGUMENT;
    }
  }();
  return {code, error.context, kRefusedByDaemon};
}

Error from_status(const grpc::Status& status) {
  const auto code = [&] {
    switch (status.error_code()) {
      case grpc::StatusCode::OK: return Errc::ok;
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::CANCELLED: return Errc::lost;
      case grpc::StatusCode::DEADLINE_EXCEEDED: return Errc::timeout;
      case grpc::StatusCode::INVALID_ARGUMENT: return Errc::invalid;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return status.error_details() == kRefusedByDaemon ? Errc::exhausted : Errc::lost;
      case grpc::StatusCode::ALREADY_EXISTS: return Errc::exists;
      case grpc::StatusCode::NOT_FOUND: return Errc::not_found;
      case grpc::StatusCode::PERMISSION_DENIED: return Errc::denied;
      case grpc::StatusCode::UNIMPLEMENTED: return Errc::unsupported;
      case grpc::StatusCode::FAILED_PRECONDITION:
      case grpc::StatusCode::ABORTED: return Errc::refused;
      default: return Errc::internal;
    }
  }();
  std::string words = status.error_message();
  // The cause stands behind the last "remote host: ", as in
  // "failed to connect to all addresses; last error: UNKNOWN: ipv4:...: Failed to connect to remote host: Connection
  // refused"
  constexpr std::string_view kLastWords = "remote host: ";
  if (const auto at = words.rfind(kLastWords); at != std::string::npos) words.erase(0, at + kLastWords.size());
  for (auto& c : words)
    if (c == '\n') c = ' ';
  if (const char* why = tls_failure(words)) words = fmt::format("{}{}", kTlsFailure, why);
  return Error{code, std::move(words)};
}

}  // namespace sumac::control
