// sharp_an, the aggregation node.
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "base/hmac.hpp"
#include "base/replace_file.hpp"
#include "control/command_line.hpp"
#include "control/descriptors.hpp"
#include "control/endpoint.hpp"
#include "control/signals.hpp"
#include "metrics/exporter.hpp"
#include "net/own_address.hpp"
#include "node/config.hpp"
#include "node/control_link.hpp"
#include "node/datagrams.hpp"
#include "node/memory_bound.hpp"
#include "node/metrics.hpp"
#include "node/pin.hpp"
#include "node/shard.hpp"
#include "wire/agg.hpp"
#include "wire/host.hpp"

namespace sumac::node {
namespace {

const control::DaemonText kText{
    "sharp_an", "an aggregation node: adds up what its children send", "SUMAC_NODE_", {"allow_insecure"}};

/// A message that finds its link's queue full costs the peer its link, so the queue must hold all that the windows
/// allow. The queue holds references into the pool, which has a limit of its own.
constexpr std::size_t kQueueMax = std::size_t{1} << 30;

Result<> check(const Config& config, const control::Tls* tls) {
  if (auto legal = control::check_endpoint(config.manager, config.allow_insecure, tls); !legal)
    return within("--manager", legal.error());
  if (config.lost_after < 4 * config.heartbeat)
    return fail(Errc::invalid, "--lost-after {} ms must be at least four times --heartbeat {} ms",
                config.lost_after.count(), config.heartbeat.count());
  return {};
}

void report(ControlLink& control, const Config& config, Logger& log) {
  const auto json = control.statistics();
  if (config.stats_file.empty()) {
    log.write(LogLevel::info, __FILE__, __LINE__, "GENERAL", "statistics: " + json);
  } else if (auto written = replace_file(config.stats_file, json + "\n", 0644); !written) {
    SUMAC_ERROR(log, "--stats-file: {}", written.error().context);
  }
}

/// The configuration of each shard; `bound` is the memory that the node never exceeds.
ShardConfig shard_config(const Config& config, MemoryBound& bound) {
  ShardConfig shard;
  shard.memory_bytes = static_cast<std::size_t>(config.memory.count);
  shard.net.backend = config.transport == Backend::ucx ? "ucx" : "tcp";
  shard.net.listen = config.listen;
  shard.net.device = config.device;
  shard.net.queue_max = kQueueMax;
  shard.path.limits.osts = config.ost_count;
  shard.path.limits.groups = config.group_count;
  shard.path.limits.payload_max = static_cast<std::uint32_t>(config.payload_max.count);
  shard.path.limits.chunk_max = static_cast<std::uint32_t>(config.chunk_max.count);
  shard.path.limits.stream_window_max = config.stream_window_max;
  shard.path.limits.streams = config.streams;
  bound = bound_memory(shard.memory_bytes, shard.net, shard.path.limits);
  shard.path.name = config.name;
  shard.path.heartbeat = config.heartbeat;
  shard.path.lost_after = config.lost_after;
  shard.waiting = {
      .spin = config.spin, .yields = 3, .sleep_max = Seconds(3600), .cpu_share = config.spin_percent / 100.0};
  return shard;
}

/// Returns the address to tell children: the one from which this host reaches its manager, which other hosts reach too.
/// Nothing if --listen or --device name an address, or if the way to the manager does not leave this host. The network
/// may come up after this process: waits until there is a way.
Result<std::optional<net::SocketAddress>> address_to_publish(const Config& config, control::Signals& signals,
                                                             Logger& log) {
  const auto listen = net::parse_address(config.listen);
  if (!config.device.empty() || control::is_unix(config.manager) || !listen || !listen->is_any()) return std::nullopt;
  for (std::string said;;) {
    auto own = net::address_towards(net::host_of(config.manager), signals.fd());
    if (own) return own->loopback ? std::nullopt : std::optional(own->address);
    if (own.error().code != Errc::interrupted && said != own.error().context) {
      said = own.error().context;
      SUMAC_WARN(log, "no way to the manager at {} yet: {}; trying again", config.manager, said);
    }
    pollfd wait{signals.fd(), POLLIN, 0};
    ::poll(&wait, 1, 500);
    while (const auto signal = signals.take())
      if (*signal == SIGTERM || *signal == SIGINT)
        return fail(Errc::interrupted, "signal {} before there was a way to the manager", *signal);
  }
}

/// `sumac doctor` reads this line.
Result<> tell_hop() {
  const auto allowed = Datagrams::try_kernel();
  fmt::print("hop: {}\n", allowed ? "allowed" : allowed.error().context);
  return {};
}

Result<> clear_hop(const std::string& name) {
  for (std::uint32_t tree = 0; tree < wire::kTreesMax; ++tree)
    if (auto cleared = Datagrams::clear_former(Datagrams::pins_of(name, tree)); !cleared) return cleared;
  return {};
}

Result<> serve(Config& config, int ready_fd, Logger& log, const control::Reloader<Config>& reloader) {
  if (config.hop == Hop::trial) return tell_hop();
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  if (!signals) return tl::unexpected(signals.error());
  if (auto ready = prepare_hmac(); !ready) return ready;
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  if (config.name.empty()) return fail(Errc::invalid, "no name: give --name NODE as in the fabric file");
  if (config.hop == Hop::clear) return clear_hop(config.name);
  auto tls = control::Tls::load({config.tls_ca, config.tls_cert, config.tls_key, config.tls_dir},
                                control::CertRole::node, config.name);
  if (!tls) return tl::unexpected(tls.error());
  if (auto legal = check(config, tls->get()); !legal) return legal;
  auto publish = address_to_publish(config, *signals, log);
  if (!publish && publish.error().code == Errc::interrupted) return {};
  if (!publish) return tl::unexpected(publish.error());
  auto metrics =
      metrics::Exporter::start({config.metrics_listen, config.metrics_cert, config.metrics_key, config.metrics_token,
                                [tls = *tls] { return tls ? tls->end() : std::nullopt; }, &log},
                               [&wake] { wake->set(); });
  if (!metrics) return tl::unexpected(metrics.error());

  const auto processors = parse_processors(config.pin);
  if (!processors) return within("--pin", processors.error());
  const auto multicast = multicast::parse_config(config.mcast, static_cast<int>(config.mcast_hops));
  if (!multicast) return within("--mcast", multicast.error());
  const auto descriptors = control::descriptors_for_strangers(16 * net::TransportConfig{}.connections_max);
  MemoryBound bound;
  auto base = shard_config(config, bound);
  base.path.multicast = *multicast;
  base.path.hop = config.hop == Hop::automatic;
  base.net.publish = *publish;
  if (const auto lacks = shortage(bound, base.net); config.transport == Backend::tcp && !lacks.empty())
    SUMAC_WARN(log, "{}", lacks);
  std::uint32_t trees_told = 0;
  const auto make_shard = [&](std::uint32_t k) -> Result<std::unique_ptr<Shard>> {
    auto listen = listen_address(config.listen, k);
    if (!listen) return tl::unexpected(listen.error());
    auto one = base;
    one.net.listen = *std::move(listen);
    // The first tree gets half of the descriptors and each further tree half of the rest: every tree has some, and
    // together they never exceed the limit.
    one.net.connections_max = std::min(one.net.connections_max, descriptors >> std::min(k + 1, 31u));
    one.net.strangers_max = strangers_max(one.net.connections_max);
    const auto pins = Datagrams::pins_of(config.name, k);
    if (one.path.hop)
      one.path.pins = pins;
    else if (const auto cleared = Datagrams::clear_former(pins); !cleared)
      SUMAC_WARN(log, "hop: a former process has left groups in the kernel: {}", cleared.error().context);
    if (one.path.hop && pins.empty() && k == 0)
      SUMAC_INFO(log,
                 "hop: /sys/fs/bpf is no file system of type bpf: groups leave their tree when this process is killed");
    auto shard = Shard::start(one, *wake, log);
    if (!shard) return shard;
    // The thread pins itself: threads that gRPC starts from the main thread would inherit a mask set there. top -H and
    // perf show its name.
    if (auto pinned = (*shard)->call([&](DataPath&) {
          ::pthread_setname_np(::pthread_self(), fmt::format("tree-{}", k).c_str());
          return pin_this_thread(*processors, k);
        });
        !pinned)
      return tl::unexpected(pinned.error());
    // The line is written at any log level, because it is needed to size a host or a cgroup; it is written again when
    // the node enters more trees than before. With ucx there is no line: UCX has buffers of its own that we cannot
    // limit.
    if (config.transport == Backend::tcp && k + 1 > trees_told) {
      trees_told = k + 1;
      log.write(LogLevel::info, __FILE__, __LINE__, "GENERAL", describe(bound, trees_told));
    }
    return shard;
  };
  auto first = make_shard(0);
  if (!first) return tl::unexpected(first.error());
  SUMAC_INFO(log, "sharp_an {} {} listens on {}; manager {}", control::version_text(), config.name, (*first)->address(),
             config.manager);
  ControlLink control({config.name, config.manager, *tls}, *wake, *std::move(first), make_shard, base.path.limits, log);

  for (bool said_ready = false;;) {
    const Time now = monotonic_now();
    if (auto told = control.progress(now); !told) return told;
    if (control.registered() && !said_ready) {
      said_ready = true;
      if (auto said = control::announce_ready(ready_fd); !said) return said;
    }
    pollfd fds[] = {{signals->fd(), POLLIN, 0}, {wake->fd(), POLLIN, 0}};
    ::poll(fds, 2, control::poll_timeout(now, control.next_due()));
    wake->clear();  // Cleared first, so that a wake-up after the look below is not lost.
    if (*metrics && (*metrics)->wanted())
      (*metrics)->answer(metrics_page(config.name, control.registered(), control.numbers()));
    while (const auto signal = signals->take()) {
      if (*signal == SIGHUP) {
        reloader.reopen_log(log);
        if (auto again = reloader.read(config)) {
          config = again->config;
          again->tell(log);
        } else {
          SUMAC_ERROR(log, "SIGHUP: nothing changed: {}", again.error().context);
        }
        continue;
      }
      if (*signal == SIGUSR1 || !config.stats_file.empty()) report(control, config, log);
      if (*signal == SIGUSR1) continue;
      SUMAC_INFO(log, "signal {}: stopping", *signal);
      return {};
    }
  }
}

}  // namespace
}  // namespace sumac::node

int main(int argc, char** argv) {
  using namespace sumac::node;
  return sumac::control::run_daemon<Config>(kOptions, kText, argc, argv, serve);
}
