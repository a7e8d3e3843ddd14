// sharp_an: an aggregation node.
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

#include "control/command_line.hpp"
#include "control/endpoint.hpp"
#include "control/signals.hpp"
#include "net/waiter.hpp"
#include "node/config.hpp"
#include "node/control_link.hpp"
#include "node/data_path.hpp"
#include "node/memory_bound.hpp"
#include "node/pin.hpp"
#include "wire/agg.hpp"

namespace sumac::node {
namespace {

const control::DaemonText kText{
    "sharp_an", "an aggregation node: adds up what its children send", "SUMAC_NODE_", {"allow_insecure"}};

/// A message waiting for room costs its peer the link, so the queue of a link has room for what the windows allow: references into
/// the pool, which has its own bound.
constexpr std::size_t kQueueMax = std::size_t{1} << 30;
/// While operations come, signals are looked for so often only: each look is a system call.
constexpr Duration kSignalsEvery = Millis(1);

Result<> check(const Config& config, const control::Tls* tls) {
  if (auto legal = control::check_endpoint(config.manager, config.allow_insecure, tls); !legal)
    return within("--manager", legal.error());
  if (config.lost_after < 2 * config.heartbeat)
    return fail(Errc::invalid, "--lost-after {} ms must be at least twice --heartbeat {} ms", config.lost_after.count(),
                config.heartbeat.count());
  return {};
}

Result<> watch(const UniqueFd& epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

void report(const DataPath& data, const Config& config, Logger& log) {
  const auto json = data.statistics_json();
  if (config.stats_file.empty()) {
    log.write(LogLevel::info, __FILE__, __LINE__, "GENERAL", "statistics: " + json);
  } else if (auto written = control::detail::write_file(config.stats_file, json + "\n"); !written) {
    SUMAC_ERROR(log, "--stats-file: {}", written.error().context);
  }
}

Result<> serve(const Config& config, int ready_fd, Logger& log) {
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGUSR1});
  if (!signals) return tl::unexpected(signals.error());
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  if (config.name.empty()) return fail(Errc::invalid, "no name: give --name NODE as in the fabric file");
  auto tls = control::Tls::load({config.tls_ca, config.tls_cert, config.tls_key}, control::CertRole::node, config.name);
  if (!tls) return tl::unexpected(tls.error());
  if (auto legal = check(config, tls->get()); !legal) return legal;

  const auto processors = parse_processors(config.pin);
  if (!processors) return within("--pin", processors.error());
  BufferPool pool(config.memory.count);
  net::TransportConfig net;
  net.backend = config.transport == Backend::ucx ? "ucx" : "tcp";
  net.listen = config.listen;
  net.device = config.device;
  net.queue_max = kQueueMax;
  DataPathConfig path;
  path.limits.osts = config.ost_count;
  path.limits.groups = config.group_count;
  path.limits.payload_max = static_cast<std::uint32_t>(config.payload_max.count);
  path.limits.chunk_max = static_cast<std::uint32_t>(config.chunk_max.count);
  path.limits.stream_window_max = config.stream_window_max;
  path.versions.max = static_cast<std::uint16_t>(config.wire_version_max);
  path.limits.streams = config.streams;
  const MemoryBound bound = bound_memory(static_cast<std::size_t>(config.memory.count), net, path.limits);
  auto transport = net::make_transport(net, pool);
  if (!transport) return tl::unexpected(transport.error());

  path.heartbeat = config.heartbeat;
  path.lost_after = config.lost_after;
  DataPath data(path, *std::move(transport), pool, log);
  ControlLink control({config.name, config.manager, *tls}, *wake, data, path.limits, log);
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  for (const int fd : {signals->fd(), wake->fd()})
    if (auto watched = watch(epoll, fd); !watched) return watched;
  net::Waiter waiter(
      {.spin = config.spin, .yields = 3, .sleep_max = Seconds(3600), .cpu_share = config.spin_percent / 100.0});
  SUMAC_INFO(log, "sharp_an {} {} listens on {}; manager {}", control::version_text(), config.name,
             data.transport().address(), config.manager);

  // Whatever the log's level: who sizes a host or a cgroup needs it. UCX has buffers of its own that nobody can bound from outside.
  if (config.transport == Backend::tcp) log.write(LogLevel::info, __FILE__, __LINE__, "GENERAL", describe(bound));
  Time look_at_signals{};
  std::uint64_t slept = 0;
  for (bool said_ready = false, takes_data = false;;) {
    const Time now = monotonic_now();
    if (auto told = control.progress(now); !told) return told;
    if (control.registered() && !said_ready) {
      said_ready = true;
      if (auto said = control::announce_ready(ready_fd); !said) return said;
    }
    if (data.identified() && !takes_data) {
      // Before that the node takes nothing from its sockets: children that come early wait in the backlog.
      takes_data = true;
      // Only now: threads that gRPC started before this inherit nothing.
      if (auto pinned = pin_this_thread(*processors, 0); !pinned) return pinned;
      if (auto watched = watch(epoll, data.transport().wake_fd()); !watched) return watched;
    }
    const std::size_t events = data.progress(now);
    if (waiter.sleeps() != slept || now >= look_at_signals) {
      slept = waiter.sleeps();
      look_at_signals = now + kSignalsEvery;
      wake->clear();
      while (const auto signal = signals->take()) {
        if (*signal == SIGUSR1 || !config.stats_file.empty()) report(data, config, log);
        if (*signal == SIGUSR1) continue;
        SUMAC_INFO(log, "signal {}: stopping", *signal);
        return {};
      }
    }
    // After clear(): what came before it is seen here, what comes later wakes the sleeper.
    const bool busy = events > 0 || control.pending() || (takes_data && !data.transport().arm());
    waiter.wait(busy ? 1 : 0, epoll.get(), std::min(data.next_due(), control.next_due()));
  }
}

}  // namespace
}  // namespace sumac::node

int main(int argc, char** argv) {
  using namespace sumac::node;
  return sumac::control::run_daemon<Config>(kOptions, kText, argc, argv, serve);
}
