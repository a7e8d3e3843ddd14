#include "metrics/exporter.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sumac::metrics {
namespace {

/// While the process has no descriptor left, it cannot accept a connection; it tries again after this pause.
constexpr Duration kFullPause = Millis(100);
/// So many connections are accepted before the others are served again.
constexpr int kAcceptedAtOnce = 16;

}  // namespace

Result<std::unique_ptr<Exporter>> Exporter::start(const Options& options, std::function<void()> wake,
                                                  const ExporterLimits& limits) {
  if (options.listen.empty()) return std::unique_ptr<Exporter>{};
  auto listener = Listener::open(options);
  if (!listener) return tl::unexpected(listener.error());
  auto stop = control::WakeEvent::make();
  if (!stop) return tl::unexpected(stop.error());
  std::unique_ptr<Exporter> exporter(new Exporter(*std::move(listener), std::move(wake), *std::move(stop), limits));
  exporter->thread_ = std::thread([raw = exporter.get()] {
    ::pthread_setname_np(::pthread_self(), "metrics");
    raw->run();
  });
  return exporter;
}

Exporter::Exporter(Listener listener, std::function<void()> wake, control::WakeEvent stop, const ExporterLimits& limits)
    : listener_(std::move(listener)),
      wake_(std::move(wake)),
      stop_(std::move(stop)),
      limits_(limits),
      http_(listener_.token, [this] { return ask(); }) {}

Exporter::~Exporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  answered_.notify_all();
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

/// Waits for the loop's page; called by the exporter's thread.
std::optional<std::string> Exporter::ask() {
  std::unique_lock lock(mutex_);
  page_.reset();
  wanted_.store(true, std::memory_order_release);
  wake_();
  answered_.wait_for(lock, limits_.loop, [this] { return page_.has_value() || stopping_; });
  wanted_.store(false, std::memory_order_relaxed);
  return std::exchange(page_, std::nullopt);
}

void Exporter::answer(const Page& page) {
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_.exchange(false)) return;  // The request has given up.
    page_ = page.text();
  }
  answered_.notify_all();
}

void Exporter::serve(Connection& connection) {
  if (connection.progress() != Connection::State::complete) return;
  connection.answer(http_.answer(connection.request()));
  connection.progress();
}

/// Returns false if no descriptor is left.
bool Exporter::accept_some(Time now) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    UniqueFd fd(::accept4(listener_.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    if (connections_.size() >= limits_.connections) connections_.erase(connections_.begin());
    connections_.push_back(std::make_unique<Connection>(std::move(fd), listener_.tls.get(), now + limits_.connection));
    serve(*connections_.back());  // An honest request is there already, so no stranger can take its place.
  }
  return true;
}

void Exporter::run() {
  Time accept_at{};
  std::vector<pollfd> fds;
  while (!stopping_) {
    Time now = monotonic_now();
    const bool accepts = now >= accept_at;
    fds.clear();
    fds.push_back({stop_.fd(), POLLIN, 0});
    fds.push_back({accepts ? listener_.fd.get() : -1, POLLIN, 0});
    for (const auto& one : connections_) fds.push_back({one->fd(), one->events(), 0});
    const Time due =
        std::min(accepts ? kNever : accept_at, connections_.empty() ? kNever : connections_[0]->deadline());
    ::poll(fds.data(), fds.size(), control::poll_timeout(now, due));

    for (std::size_t i = 0; i < connections_.size(); ++i)
      if (fds[i + 2].revents != 0) serve(*connections_[i]);
    now = monotonic_now();
    if (fds[1].revents != 0 && !accept_some(now)) accept_at = now + kFullPause;
    std::erase_if(connections_, [now](const auto& one) { return one->is_over() || one->deadline() <= now; });
  }
}

}  // namespace sumac::metrics
