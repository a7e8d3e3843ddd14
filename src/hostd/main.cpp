// sharpd, which carries the control requests of this host's processes.
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "control/command_line.hpp"
#include "control/descriptors.hpp"
#include "control/endpoint.hpp"
#include "control/identity.hpp"
#include "control/life.hpp"
#include "hostd/config.hpp"
#include "hostd/metrics.hpp"
#include "hostd/server.hpp"
#include "metrics/exporter.hpp"

namespace sumac::hostd {
namespace {

const control::DaemonText kText{
    "sharpd", "carries control requests of this host's processes to the manager", "SUMAC_HOSTD_", {"allow_insecure"}};

Result<std::string> host_name(const Config& config) {
  std::string name = config.host;
  if (name.empty()) {
    char text[256]{};
    if (::gethostname(text, sizeof text - 1) < 0) return fail_errno("gethostname");
    name = text;
  }
  if (name.size() >= wire::kHostNameMax)
    return fail(Errc::invalid, "the host's name {} has more than {} bytes: give --host NAME as in the fabric file",
                name, wire::kHostNameMax - 1);
  if (!control::is_certificate_name(name))
    return fail(Errc::invalid,
                "the host's name '{}' holds other than letters, digits, '.', '-' and '_': give --host NAME as in the "
                "fabric file",
                name);
  return name;
}

/// A client takes three descriptors: its socket, its process and its page. If fewer are permitted than configured, one user still
/// leaves some for others.
template <class Sockets>
void limit_clients(Sockets& sockets, const Config& config, Logger& log) {
  const auto room = control::descriptors_for_strangers(3 * std::size_t{config.clients_max}) / 3;
  if (room < config.clients_max)
    SUMAC_WARN(
        log,
        "{} of {} processes (--clients-max) can be attached: raise the limit of descriptors (ulimit -n, LimitNOFILE=)",
        room, config.clients_max);
  sockets.set_clients_max(room, room < config.clients_max ? std::min<std::size_t>(config.user_clients_max, room / 2)
                                                          : config.user_clients_max);
}

Result<> serve(Config& config, int ready_fd, Logger& log, const control::Reloader<Config>& reloader) {
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return tl::unexpected(signals.error());
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  auto epoll = Server::make_epoll();
  if (!epoll) return tl::unexpected(epoll.error());
  auto host = host_name(config);
  if (!host) return tl::unexpected(host.error());
  auto tls = control::Tls::load({config.tls_ca, config.tls_cert, config.tls_key, config.tls_dir},
                                control::CertRole::host, *host);
  if (!tls) return tl::unexpected(tls.error());
  if (auto legal = control::check_endpoint(config.manager, config.allow_insecure, tls->get()); !legal)
    return within("--manager", legal.error());
  if (config.devices.size() >= wire::kDevicesMax)
    return fail(Errc::invalid, "--devices: at most {} letters", wire::kDevicesMax - 1);
  if (std::ranges::any_of(config.devices, wire::is_control))
    return fail(Errc::invalid, "--devices: names with commas between, and no control characters");
  auto metrics =
      metrics::Exporter::start({config.metrics_listen, config.metrics_cert, config.metrics_key, config.metrics_token,
                                [tls = *tls] { return tls ? tls->end() : std::nullopt; }, &log},
                               [&wake] { wake->set(); });
  if (!metrics) return tl::unexpected(metrics.error());
  auto sockets = net::HostServer::listen(config.socket, config.clients_max);
  if (!sockets) return tl::unexpected(sockets.error());
  limit_clients(*sockets, config, log);
  const auto held_file = config.socket + ".jobs";
  auto held = load_held(held_file);
  if (!held) SUMAC_WARN(log, "the jobs of the former sharpd are lost: {}", held.error().context);
  const bool inherits = held && *held;
  Server server({*host, config.manager, config.manager_timeout, inherits ? (*held)->life : control::draw_life(), *tls,
                 held_file, config.devices},
                *std::move(sockets), *wake, *std::move(epoll), log);
  if (inherits) {
    const auto count = server.take_over(**held);
    SUMAC_WARN(log, "{} of {} jobs of the former sharpd go on", count, (*held)->jobs.size());
  }
  if (auto answers = server.answer_inspections(); !answers)
    SUMAC_WARN(log, "`sumac explain` sees no other host from here: {}", answers.error().context);
  SUMAC_INFO(log, "sharpd {} of host {} listens at {}; manager {}", control::version_text(), *host, config.socket,
             config.manager);
  if (auto said = control::announce_ready(ready_fd); !said) return said;
  for (;;) {
    if (auto ran = server.run_once(signals->fd()); !ran) return ran;
    if (*metrics && (*metrics)->wanted()) (*metrics)->answer(metrics_page(*host, server.numbers()));
    if (const auto signal = signals->take()) {
      if (*signal == SIGHUP) {
        reloader.reopen_log(log);
        if (auto again = reloader.read(config)) {
          config = again->config;
          server.set_manager_timeout(config.manager_timeout);
          limit_clients(server, config, log);
          again->tell(log);
        } else {
          SUMAC_ERROR(log, "SIGHUP: nothing changed: {}", again.error().context);
        }
        continue;
      }
      SUMAC_INFO(log, "signal {}: stopping", *signal);
      return {};
    }
  }
}

}  // namespace
}  // namespace sumac::hostd

int main(int argc, char** argv) {
  using namespace sumac::hostd;
  return sumac::control::run_daemon<Config>(kOptions, kText, argc, argv, serve);
}
