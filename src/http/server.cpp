#include "http/server.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sumac::http {
namespace {

/// While the process has no descriptor left, it cannot accept a connection; it tries again after this pause.
constexpr Duration kFullPause = Millis(100);
/// So many connections are accepted before the others are served again.
constexpr int kAcceptedAtOnce = 16;
constexpr Duration kPortPause = Seconds(1);

/// The daemon needs descriptors for its own work, which strangers must not use up.
std::size_t connections_at_most(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, wanted);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(Listener listener, const char* thread,
                                              std::function<Response(const Request&)> respond,
                                              const ServerLimits& limits) {
  auto stop = control::WakeEvent::make();
  if (!stop) return tl::unexpected(stop.error());
  std::unique_ptr<Server> server(new Server(std::move(listener), *std::move(stop), std::move(respond), limits));
  server->thread_ = std::thread([raw = server.get(), thread] {
    ::pthread_setname_np(::pthread_self(), thread);
    raw->run();
  });
  return server;
}

Server::Server(Listener listener, control::WakeEvent stop, std::function<Response(const Request&)> respond,
               const ServerLimits& limits)
    : listener_(std::move(listener)), stop_(std::move(stop)), limits_(limits), exchange_(std::move(respond)) {
  limits_.connections = connections_at_most(limits.connections);
}

Server::~Server() {
  stopping_ = true;
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

void Server::serve(Connection& connection) {
  if (connection.progress() != Connection::State::complete) return;
  connection.answer(exchange_.answer(connection.request()));
  if (connection.progress() != Connection::State::writing) return;
  const auto writes = [](const auto& one) { return one->is_writing(); };
  if (static_cast<std::size_t>(std::ranges::count_if(connections_, writes)) <= limits_.untaken) return;
  const auto is_other = [&](const auto& one) { return one->is_writing() && one.get() != &connection; };
  if (const auto oldest = std::ranges::find_if(connections_, is_other); oldest != connections_.end()) (*oldest)->cut();
}

void Server::make_room() {
  if (connections_.size() < limits_.connections) return;
  std::erase_if(connections_, [](const auto& one) { return one->is_over(); });
  if (connections_.size() < limits_.connections) return;
  const auto oldest = std::ranges::find_if(connections_, [](const auto& one) { return !one->is_writing(); });
  connections_.erase(oldest == connections_.end() ? connections_.begin() : oldest);
}

/// Returns false if no descriptor is left.
bool Server::accept_some(Time now) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    UniqueFd fd(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    make_room();
    connections_.push_back(std::make_unique<Connection>(std::move(fd), listener_.tls.get(), now + limits_.connection));
    serve(*connections_.back());  // Most requests are there already.
  }
  return true;
}

void Server::run() {
  Time accept_at{}, listen_at = listener_.fd ? kNever : monotonic_now() + kPortPause;
  std::vector<pollfd> fds;
  while (!stopping_) {
    Time now = monotonic_now();
    if (now >= listen_at) listen_at = listener_.listen_again() ? kNever : now + kPortPause;
    const bool accepts = now >= accept_at;
    fds.clear();
    fds.push_back({stop_.fd(), POLLIN, 0});
    fds.push_back({accepts ? listener_.fd.get() : -1, POLLIN, 0});
    for (const auto& one : connections_) fds.push_back({one->fd(), one->events(), 0});
    const Time due = std::min(
        {listen_at, accepts ? kNever : accept_at, connections_.empty() ? kNever : connections_[0]->deadline()});
    ::poll(fds.data(), fds.size(), control::poll_timeout(now, due));

    for (std::size_t i = 0; i < connections_.size(); ++i)
      if (fds[i + 2].revents != 0) serve(*connections_[i]);
    now = monotonic_now();
    if (fds[1].revents != 0 && !accept_some(now)) accept_at = now + kFullPause;
    std::erase_if(connections_, [now](const auto& one) { return one->is_over() || one->deadline() <= now; });
  }
}

}  // namespace sumac::http
