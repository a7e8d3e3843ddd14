#include "control/endpoint.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <grpc/support/log.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "base/clock.hpp"
#include "base/fd.hpp"

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

/// A refused handshake reaches nobody but gRPC's log; the manager's operator wants to know, though not of every attempt.
std::atomic<bool> g_serves_tls = false;
void note_handshake(std::string_view message) {
  static std::atomic<std::int64_t> next_s = 0;
  const auto now_s = std::chrono::duration_cast<std::chrono::seconds>(monotonic_now().time_since_epoch()).count();
  if (auto due = next_s.load(); now_s < due || !next_s.compare_exchange_strong(due, now_s + 60)) return;
  const bool clear =
      message.find("wrong version number") != message.npos || message.find("http request") != message.npos;
  fmt::print(
      stderr, "turned away at the TLS handshake: {} (told once a minute)\n",
      clear ? "somebody who speaks clear text" : "somebody whose certificate is not of this authority, or expired");
}

/// gRPC prints its own account of failures that we report in one line. Who wants it sets GRPC_VERBOSITY, as ever.
void quiet_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr)
      gpr_set_log_function([](gpr_log_func_args* args) {
        const std::string_view message = args->message;
        if (g_serves_tls && message.find("Handshake failed") != message.npos) note_handshake(message);
        // ... but why it aborts the process must be seen.
        if (message.find("assertion") != message.npos)
          fmt::print(stderr, "gRPC {}:{}: {}\n", args->file, args->line, args->message);
      });
    return true;
  }();
  (void)once;
}

/// gRPC replaces a unix socket's file whoever listens there: a second manager would take over without a word.
bool somebody_answers(const std::string& endpoint) {
  if (!endpoint.starts_with("unix:")) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.size() - 5 >= sizeof address.sun_path) return false;  // gRPC will say so
  std::copy(endpoint.begin() + 5, endpoint.end(), std::begin(address.sun_path));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  return errno == EAGAIN;  // its backlog is full: it is there
}

bool is_port(std::string_view text) noexcept {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && port <= 65535;
}

/// What gRPC says of a connection that failed in its handshake, in words that help. Null: it was something else.
const char* tls_failure(std::string_view words) {
  const auto has = [&](std::string_view part) { return words.find(part) != words.npos; };
  if (has("certificate verify failed") || has("Peer name"))
    return "who answers there has no manager's certificate of our authority: --tls-ca here and sharp_am's --tls-cert "
           "must "
           "come from one `sumac pki` directory, and not have expired";
  if (has("wrong version number"))
    return "who answers there speaks clear text: give sharp_am --tls-ca, --tls-cert and --tls-key, or leave them away "
           "here";
  if (has("Ssl handshake failed") || has("alert"))
    return "the handshake failed: see what sharp_am says, and whether our certificate has expired";
  if (has("failed to connect") && has("Socket closed"))
    return "it closes the connection at once: it wants --tls-ca, --tls-cert and --tls-key, or does not like what it "
           "was "
           "given there";
  return nullptr;
}

}  // namespace

bool is_local(std::string_view endpoint) noexcept {
  if (endpoint.starts_with("unix:")) return true;
  const auto host = split(endpoint).host;
  if (host == "::1" || host == "localhost") return true;
  if (!host.starts_with("127.")) return false;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;  // not "127.example.org"
}

Result<> check_endpoint(std::string_view endpoint, bool allow_insecure, const Tls* tls) {
  if (endpoint.starts_with("unix:")) {
    const auto path = endpoint.substr(5);
    if (path.empty()) return fail(Errc::invalid, "{}: a path belongs behind unix:", endpoint);
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return fail(Errc::invalid, "{}: the path of a unix socket has at most {} bytes", endpoint,
                  sizeof(sockaddr_un::sun_path) - 1);
    return {};
  }
  const auto [host, port] = split(endpoint);
  if (host.empty() || !is_port(port))
    return fail(Errc::invalid, "{} is no address: write ADDR:PORT such as 127.0.0.1:6126, or unix:PATH", endpoint);
  if (!is_local(endpoint) && !allow_insecure && tls == nullptr)
    return fail(
        Errc::invalid,
        "{} is not on this machine, and clear text would leave it: give --tls-ca, --tls-cert and --tls-key (`sumac "
        "pki` makes them), or add --allow-insecure if the network is yours alone",
        endpoint);
  return {};
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& endpoint, Tls* tls) {
  quiet_grpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // also how long one attempt may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A machine that loses its power sends no farewell. Generous: a busy one must not pass for dead.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 15000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  if (tls == nullptr) return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
  arguments.SetSslTargetNameOverride(kManagerDnsName);
  return grpc::CreateCustomChannel(endpoint, tls->for_client(), arguments);
}

Result<Server> Server::start(const std::string& endpoint, grpc::Service& service, const Tls* tls) {
  quiet_grpc();
  if (somebody_answers(endpoint))
    return fail(Errc::io, "cannot listen on {}: another process does: stop it or choose another with --listen",
                endpoint);
  grpc::ServerBuilder builder;
  int port = 0;
  const bool unix_socket = endpoint.starts_with("unix:");
  // 077: a socket file that others can't even connect to. Only gRPC's bind runs under it; no thread of ours creates files yet.
  const mode_t mask = unix_socket ? ::umask(077) : 0;
  builder.AddListeningPort(endpoint, tls == nullptr ? grpc::InsecureServerCredentials() : tls->for_server(), &port);
  builder.SetMaxReceiveMessageSize(kMessageBytesMax);
  builder.RegisterService(&service);
  // Otherwise a second manager on the same port would quietly take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 15000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  if (tls != nullptr) g_serves_tls = true;
  auto server = builder.BuildAndStart();
  if (unix_socket) ::umask(mask);
  if (!server)
    return fail(Errc::io,
                "cannot listen on {}: the address is in use or not of this machine: stop the other process or "
                "choose another with --listen",
                endpoint);
  std::string bound = endpoint;
  if (!unix_socket) bound = fmt::format("{}:{}", endpoint.substr(0, endpoint.rfind(':')), port);
  return Server(std::move(server), std::move(bound), port);
}

void Server::stop() {
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now());  // open streams are cancelled, not waited for
  server_->Wait();
  server_.reset();
}

Error from_status(const grpc::Status& status) {
  const auto code = [&] {
    switch (status.error_code()) {
      case grpc::StatusCode::OK: return Errc::ok;
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::CANCELLED: return Errc::lost;
      case grpc::StatusCode::DEADLINE_EXCEEDED: return Errc::timeout;
      case grpc::StatusCode::INVALID_ARGUMENT: return Errc::invalid;
      case grpc::StatusCode::RESOURCE_EXHAUSTED: return Errc::exhausted;
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
  // "failed to connect to all addresses; last error: UNKNOWN: ipv4:...: Failed to connect to remote host: Connection refused"
  constexpr std::string_view kLastWords = "remote host: ";
  if (const auto at = words.rfind(kLastWords); at != std::string::npos) words.erase(0, at + kLastWords.size());
  for (auto& c : words)
    if (c == '\n') c = ' ';
  if (const char* why = tls_failure(words)) words = fmt::format("{}{}", kTlsFailure, why);
  return Error{code, std::move(words)};
}

}  // namespace sumac::control
