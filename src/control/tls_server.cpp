#include "control/tls_server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/bound_port.hpp"
#include "control/descriptors.hpp"
#include "control/endpoint.hpp"
#include "control/openssl.hpp"

namespace sumac::control {
namespace {

constexpr Duration kHandshake = Seconds(10);
/// At most so many connections whose handshake has not ended, and a quarter of the process's descriptors.
constexpr std::size_t kHandshakesWanted = 1024;
constexpr int kAcceptsInTurn = 64;
/// While the process has no descriptor left, it cannot accept a connection; it tries again after this pause.
constexpr int kFullPauseMs = 100;
/// The keys in the epoll set that are no handshake.
constexpr Relay::Id kListener = 0, kStop = 1, kRelay = 2, kFirstId = 3;

constexpr Relay::Limits kDaemonLimits{
    {kMessageBytesMax, kDaemonCalls}, kDaemonConnections, kDaemonUnfinishedBytesMax, kAllDaemonsUnfinishedBytesMax};

bool watch(int epoll, int fd, Relay::Id key, std::uint32_t events, int operation = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return ::epoll_ctl(epoll, operation, fd, &event) == 0;
}

bool is_wildcard(const sockaddr* address) {
  if (address->sa_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

UniqueFd listen_at(const sockaddr* address, socklen_t length) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1, off = 0;
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd && address->sa_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (!fd || ::bind(fd.get(), address, length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) return {};
  return fd;
}

/// A close with unread bytes would be a reset, which overtakes the alert that says why.
void hang_up(int fd) {
  std::array<std::byte, 4096> unread;
  ::shutdown(fd, SHUT_WR);
  for (int i = 0; i < 16 && ::recv(fd, unread.data(), unread.size(), 0) > 0; ++i) continue;
}

}  // namespace

void TlsServer::Holders::put(const std::string& peer, Result<Identity> who) {
  const std::lock_guard lock(mutex_);
  by_peer_.insert_or_assign(peer, std::move(who));
}

void TlsServer::Holders::drop(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  by_peer_.erase(peer);
}

Result<Caller> TlsServer::Holders::caller(const std::string& peer) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_peer_.find(peer);
  if (found == by_peer_.end()) return fail(Errc::denied, "its connection is closed");
  if (!found->second) return tl::unexpected(found->second.error());
  Caller caller;
  caller.certificate = *found->second;
  return caller;
}

TlsServer::TlsServer(std::unique_ptr<SSL_CTX, SslDelete> context, Relay relay, WakeEvent stop, const Logger* log)
    : context_(std::move(context)),
      relay_(std::move(relay)),
      stop_(std::move(stop)),
      log_(log),
      handshakes_max_(std::max<std::size_t>(descriptors_for_strangers(4 * kHandshakesWanted) / 4, 16)),
      last_id_(kFirstId) {}

Result<std::unique_ptr<TlsServer>> TlsServer::start(const std::string& endpoint, const Tls& tls,
                                                    const MakeService& make, const Logger* log) {
  auto context = tls.for_server();
  if (!context) return tl::unexpected(context.error());
  auto relay = Relay::make(kDaemonLimits);
  if (!relay) return tl::unexpected(relay.error());
  auto stop = WakeEvent::make();
  if (!stop) return tl::unexpected(stop.error());
  std::unique_ptr<TlsServer> server(new TlsServer(*std::move(context), *std::move(relay), *std::move(stop), log));
  if (auto listens = server->listen(endpoint); !listens) return tl::unexpected(listens.error());
  if (auto serves = server->serve(make); !serves) return tl::unexpected(serves.error());
  server->thread_ = std::thread([raw = server.get()] { raw->run(); });
  return server;
}

Result<> TlsServer::listen(const std::string& endpoint) {
  const auto colon = endpoint.rfind(':');
  const auto host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  const bool has_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const auto name = has_brackets ? host.substr(1, host.size() - 2) : host;
  if (::getaddrinfo(name.c_str(), port.c_str(), &hints, &list) == 0) {
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    for (const addrinfo* at = list; at != nullptr && !listener_; at = at->ai_next) {
      // 0.0.0.0 means every address, those of IPv6 too where the machine has them.
      sockaddr_in6 every{};
      every.sin6_family = AF_INET6;
      every.sin6_port = reinterpret_cast<const sockaddr_in*>(at->ai_addr)->sin_port;  // At the same place in both.
      if (is_wildcard(at->ai_addr)) listener_ = listen_at(reinterpret_cast<const sockaddr*>(&every), sizeof every);
      if (!listener_) listener_ = listen_at(at->ai_addr, at->ai_addrlen);
    }
  }
  if (!listener_)
    return fail(Errc::io,
                "cannot listen on {}: the address is in use or not of this machine: stop the other process or "
                "choose another with --listen",
                endpoint);
  endpoint_ = fmt::format("{}:{}", host, bound_port(listener_.get()));
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_ || !watch(epoll_.get(), listener_.get(), kListener, EPOLLIN) ||
      !watch(epoll_.get(), stop_.fd(), kStop, EPOLLIN) || !watch(epoll_.get(), relay_.fd(), kRelay, EPOLLIN))
    return fail_errno("epoll");
  std::uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) return fail_errno("getrandom");
  prefix_ = fmt::format("sumac-am-{:016x}", drawn);
  return {};
}

Result<> TlsServer::serve(const MakeService& make) {
  service_ = make([this](const grpc::ServerContextBase& context) { return holders_.caller(context.peer()); });
  grpc::ServerBuilder builder;
  set_server_options(builder, Callers::daemons);
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (!server_) return fail(Errc::internal, "gRPC does not start a server for {}", endpoint_);
  return {};
}

TlsServer::~TlsServer() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
  if (!server_) return;
  // A deadline of now cancels the open streams instead of waiting for them.
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

void TlsServer::run() {
  // OpenSSL writes without MSG_NOSIGNAL: a caller that has hung up must not end the process.
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  bool full = false;
  for (;;) {
    epoll_event events[64];
    const int limit_ms = full ? kFullPauseMs : -1, next_ms = poll_timeout(monotonic_now(), next_deadline());
    const int count =
        ::epoll_wait(epoll_.get(), events, 64, full && (next_ms < 0 || next_ms > limit_ms) ? limit_ms : next_ms);
    if (count < 0 && errno != EINTR) return;  // epoll_wait cannot fail otherwise with an epoll set of our own.
    if (full) watch(epoll_.get(), listener_.get(), kListener, EPOLLIN, EPOLL_CTL_MOD);
    full = false;
    const auto now = monotonic_now();
    for (int i = 0; i < count; ++i) {
      const auto key = events[i].data.u64;
      if (key == kStop) return;
      if (key == kRelay) continue;  // It has its turn below, for its own deadlines too.
      if (key != kListener)
        shake_hands(key, now);
      else if (!accept_some(now))
        full = watch(epoll_.get(), listener_.get(), kListener, 0, EPOLL_CTL_MOD);
    }
    move(now);
    expire(now);
  }
}

/// Accepts some connections. Returns false if no descriptor is left.
bool TlsServer::accept_some(Time now) {
  for (int i = 0; i < kAcceptsInTurn; ++i) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    CallerSocket socket{.fd = std::move(fd)};
    socket.tls.reset(SSL_new(context_.get()));
    if (!socket.tls || SSL_set_fd(socket.tls.get(), socket.fd.get()) != 1) return false;
    SSL_set_accept_state(socket.tls.get());
    const Id id = ++last_id_;
    if (!watch(epoll_.get(), socket.fd.get(), id, EPOLLIN)) return false;
    handshakes_.emplace(id, std::move(socket));
    deadlines_.emplace_back(deadline_after(now, kHandshake), id);
    if (handshakes_.size() > handshakes_max_) handshakes_.erase(handshakes_.begin());
  }
  return true;
}

void TlsServer::shake_hands(Id id, Time now) {
  const auto found = handshakes_.find(id);
  if (found == handshakes_.end()) return;
  auto& socket = found->second;
  ERR_clear_error();
  const int result = SSL_do_handshake(socket.tls.get());
  if (result == 1) {
    auto whole = std::move(socket);
    handshakes_.erase(found);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, whole.fd.get(), nullptr);
    return established(id, std::move(whole), now);
  }
  const int error = SSL_get_error(socket.tls.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    const auto wanted = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
    if (watch(epoll_.get(), socket.fd.get(), id, wanted, EPOLL_CTL_MOD)) return;
  } else if (error == SSL_ERROR_SSL) {
    const auto words = openssl_words();
    const bool clear = words.find("wrong version number") != words.npos || words.find("http request") != words.npos;
    turn_away(
        clear ? "somebody who speaks clear text" : "somebody whose certificate is not of this authority, or expired",
        now);
  }
  ERR_clear_error();
  hang_up(socket.fd.get());
  handshakes_.erase(id);
}

void TlsServer::turn_away(std::string_view why, Time now) {
  if (log_ == nullptr) return;
  if (const auto more = log_limit_.next("handshake", now))
    SUMAC_WARN(*log_, "turned away at the TLS handshake: {} (logged at most once a minute){}", why, *more);
}

void TlsServer::established(Id id, CallerSocket socket, Time now) {
  const Openssl<X509> shown(SSL_get1_peer_certificate(socket.tls.get()));
  if (!shown) return turn_away("somebody who has shown no certificate", now);
  auto who = identity_in(shown.get());
  if (!who) who = fail(Errc::denied, "its certificate names no role and name of Sumac's");
  const auto share = who ? describe(*who) : std::string("a certificate without a name of Sumac's");
  auto grpcs = relay_.add(id, std::move(socket), share, peer_name(id));
  if (!grpcs) {
    if (log_ != nullptr)
      if (const auto more = log_limit_.next("relay", now))
        SUMAC_WARN(*log_, "cannot serve {}: {}{}", share, grpcs.error().context, *more);
    return;
  }
  holders_.put("unix-abstract:" + peer_name(id), std::move(who));
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = grpcs->release();
  acceptor_->HandleNewConnection(&parameters);
}

void TlsServer::move(Time now) {
  for (const auto& ended : relay_.progress(now)) {
    holders_.drop("unix-abstract:" + peer_name(ended.id));
    if (!ended.exceeded || log_ == nullptr) continue;
    if (const auto more = log_limit_.next("exceeded", now))
      SUMAC_WARN(*log_, "closed a connection of {}: it begins more than it ends (docs/security.md){}", ended.share,
                 *more);
  }
}

void TlsServer::expire(Time now) {
  for (; !deadlines_.empty(); deadlines_.pop_front()) {
    const auto& [when, id] = deadlines_.front();
    if (when > now && handshakes_.contains(id)) return;
    handshakes_.erase(id);
  }
}

Time TlsServer::next_deadline() const noexcept {
  const auto handshake = deadlines_.empty() ? kNever : deadlines_.front().first;
  return std::min(handshake, relay_.next_deadline());
}

}  // namespace sumac::control
