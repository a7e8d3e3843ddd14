// sharp_am: the aggregation manager.
#include <poll.h>
#include <signal.h>

#include <fstream>
#include <memory>
#include <sstream>

#include "control/command_line.hpp"
#include "control/endpoint.hpp"
#include "control/signals.hpp"
#include "fabricfile/fabricfile.hpp"
#include "manager/config.hpp"
#include "manager/service.hpp"
#include "manager/store.hpp"

namespace sumac::manager {
namespace {

const control::DaemonText kText{"sharp_am",
                                "the aggregation manager: trees, jobs and their quotas",
                                "SUMAC_AM_",
                                {"allow_insecure", "reservation_mode"}};

/// Milliseconds for poll(): rounded up, or a deadline would be met by spinning through its last one.
int poll_timeout(Time now, Time deadline) {
  if (deadline == kNever) return -1;
  if (deadline <= now) return 0;
  return static_cast<int>(std::chrono::ceil<Millis>(deadline - now).count());
}

Result<Reservations> read_reservations(const Config& config) {
  if (!config.reservation_mode) return Reservations{};
  if (config.reservations.empty())
    return fail(Errc::invalid, "--reservation-mode needs a file of reservations: give --reservations FILE");
  std::ifstream file(config.reservations);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return fail(Errc::io, "reservations {}: can't be read", config.reservations);
  auto parsed = Reservations::parse(text.str());
  if (!parsed) return within("reservations " + config.reservations, parsed.error());
  return parsed;
}

/// Where this manager writes down what it grants, and what its former life wrote there.
struct State {
  std::unique_ptr<Journal> journal;
  SavedState saved;

  static Result<State> open(const std::string& directory) {
    if (directory.empty()) return State{std::make_unique<NoJournal>(), {}};
    auto store = Store::open(directory);
    if (!store) return tl::unexpected(store.error());
    auto saved = store->load();
    if (!saved) return tl::unexpected(saved.error());
    return State{std::make_unique<Store>(*std::move(store)), *std::move(saved)};
  }
};

/// What the core decides by, of the options that may change while it runs; the rest of `rules` stays.
void take_options(CoreRules& rules, const Config& config) {
  rules.quota.default_percent = config.default_percent;
  rules.quota.stream_window = config.stream_window;
  rules.quota.chunk_bytes = static_cast<std::uint32_t>(config.chunk.count);
  rules.grant_timeout = config.grant_timeout;
  rules.user = {config.user_jobs_max, config.user_share_max};
}

/// All of it or nothing. Jobs that run keep what they were granted.
Result<> reload(Config& config, CoreRules& rules, Service& service, Logger& log,
                const control::Reloader<Config>& reloader) {
  auto again = reloader.read(config);
  if (!again) return tl::unexpected(again.error());
  auto reservations = read_reservations(again->config);
  if (!reservations) return tl::unexpected(reservations.error());
  config = again->config;
  take_options(rules, config);
  service.set_rules(rules);
  const auto count = reservations->count();
  service.set_reservations(*std::move(reservations));
  again->tell(log);
  SUMAC_INFO(log, "SIGHUP: {} reservations read; the fabric is read at start only", count);
  return {};
}

Result<> serve(Config& config, int ready_fd, Logger& log, const control::Reloader<Config>& reloader) {
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return tl::unexpected(signals.error());
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  if (config.fabric.empty()) return fail(Errc::invalid, "no fabric file: give --fabric FILE.yaml");
  auto fabric = load_fabric(config.fabric);
  if (!fabric) return tl::unexpected(fabric.error());
  auto tree = topo::build_tree(*fabric);
  if (!tree) return within(config.fabric, tree.error());
  auto tls = control::Tls::load({config.tls_ca, config.tls_cert, config.tls_key}, control::CertRole::manager, "");
  if (!tls) return tl::unexpected(tls.error());
  if (auto legal = control::check_endpoint(config.listen, config.allow_insecure, tls->get()); !legal)
    return within("--listen", legal.error());

  if (config.renew * 2 > config.lease)
    return fail(Errc::invalid, "--renew {} ms must be at most half of --lease {} ms", config.renew.count(),
                config.lease.count());
  auto reservations = read_reservations(config);
  if (!reservations) return tl::unexpected(reservations.error());

  CoreRules rules;
  take_options(rules, config);
  rules.lease = config.lease;
  rules.renew_every = config.renew;
  auto state = State::open(config.state_dir);
  if (!state) return tl::unexpected(state.error());
  Service service(Core(*fabric, *tree, rules, *state->journal), log, [&wake] { wake->set(); });
  service.restore(state->saved);
  service.set_reservations(*std::move(reservations));
  auto server = control::Server::start(config.listen, service, tls->get());
  if (!server) return tl::unexpected(server.error());
  service.listens_on(server->endpoint(), *tls != nullptr);
  SUMAC_INFO(log, "sharp_am {} listens on {}{}; fabric {}: {} hosts, {} nodes, root {}", control::version_text(),
             server->endpoint(), *tls ? " with mutual TLS" : "", config.fabric, fabric->hosts.size(),
             fabric->nodes.size(), tree->nodes[tree->root].name);
  if (config.state_dir.empty()) SUMAC_INFO(log, "no --state-dir: jobs are forgotten when this process ends");
  if (auto said = control::announce_ready(ready_fd); !said) return said;

  for (;;) {
    pollfd fds[] = {{signals->fd(), POLLIN, 0}, {wake->fd(), POLLIN, 0}};
    ::poll(fds, 2, poll_timeout(monotonic_now(), service.next_deadline()));
    wake->clear();
    service.tick(monotonic_now());
    while (const auto signal = signals->take()) {
      if (*signal == SIGHUP) {
        if (auto done = reload(config, rules, service, log, reloader); !done)
          SUMAC_ERROR(log, "SIGHUP: nothing changed: {}", done.error().context);
        continue;
      }
      SUMAC_INFO(log, "signal {}: stopping", *signal);
      server->stop();
      return {};
    }
  }
}

}  // namespace
}  // namespace sumac::manager

int main(int argc, char** argv) {
  using namespace sumac::manager;
  return sumac::control::run_daemon<Config>(kOptions, kText, argc, argv, serve);
}
