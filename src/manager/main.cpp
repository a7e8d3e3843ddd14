// sharp_am, the aggregation manager.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/hmac.hpp"
#include "control/command_line.hpp"
#include "control/descriptors.hpp"
#include "control/endpoint.hpp"
#include "control/signals.hpp"
#include "fabricfile/fabricfile.hpp"
#include "fabricfile/ibnetdiscover.hpp"
#include "manager/config.hpp"
#include "manager/service.hpp"
#include "manager/store.hpp"
#include "metrics/exporter.hpp"
#include "page/page.hpp"
#include "topo/changes.hpp"
#include "wire/host.hpp"

namespace sumac::manager {
namespace {

/// A caller takes one descriptor, by TLS three (control/relay.hpp).
constexpr std::size_t kCallersWanted = 16384, kDescriptorsOfCaller = 3;

const control::DaemonText kText{"sharp_am",
                                "the aggregation manager: trees, jobs and their quotas",
                                "SUMAC_AM_",
                                {"allow_insecure", "reservation_mode"}};

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

/// Returns the fabric that its file describes now; without a file it is one switch that connects everything that
/// registers.
Result<topo::Fabric> read_fabric(const Config& config) {
  const auto finish = [&](topo::Fabric fabric) -> Result<topo::Fabric> {
    if (config.trees != 0) fabric.trees = config.trees;
    if (config.radix != 0) fabric.radix = config.radix;
    if (fabric.trees > wire::kTreesMax)
      return fail(Errc::invalid, "{}: {} trees asked, sharp_am serves at most {}", config.fabric, fabric.trees,
                  wire::kTreesMax);
    if (fabric.radix == 1) return fail(Errc::invalid, "--radix 1 makes no tree: give 2 or more, or 0 for no limit");
    return fabric;
  };
  if (config.fabric.empty()) {
    // Its switches are not known, so no GUID can be found; a file that is none is a mistake all the same.
    if (!config.root_guids.empty())
      if (auto guids = load_guids(config.root_guids); !guids) return within("root_guids_file", guids.error());
    return finish(topo::registered_fabric("registered"));
  }
  auto fabric = load_fabric(config.fabric);
  if (!fabric) return tl::unexpected(fabric.error());
  if (!config.root_guids.empty())
    if (auto used = use_root_guids(*fabric, config.root_guids); !used) return tl::unexpected(used.error());
  return finish(*std::move(fabric));
}

/// Logs what stands in for settings of managers that belong to an InfiniBand fabric.
Result<> tell_stand_ins(const Config& config, Logger& log) {
  if (!config.ib_port_guid.empty()) {
    const auto guid = parse_port_guid(config.ib_port_guid);
    if (!guid) return within("ib_port_guid", guid.error());
    SUMAC_INFO(log, "ib_port_guid {:#x}: sharp_am uses no InfiniBand port; nodes and hosts find it at {} (listen)",
               *guid, config.listen);
  }
  if (!config.root_guids.empty() && config.fabric.empty())
    SUMAC_INFO(
        log,
        "root_guids_file {}: no fabric file says which switches these are; the nodes that register are the roots "
        "(fabric_lst_file names a file)",
        config.root_guids);
  return {};
}

/// The journal of this manager, and the state that its former life wrote there.
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

/// Users from this number on are persons, as login.defs of the common distributions has it.
constexpr uid_t kFirstPerson = 1000;

std::uint32_t user_share_percent(const Config& config) {
  if (config.user_share_max != 0) return config.user_share_max;
  return ::geteuid() < kFirstPerson ? 50 : 100;
}

/// Copies the options that may change at run time into `rules`; the rest of `rules` stays.
void take_options(Rules& rules, const Config& config) {
  rules.quota.default_percent = config.default_percent;
  rules.quota.group_channels_max = config.group_channels_max;
  rules.quota.stream_window = config.stream_window;
  rules.quota.chunk_bytes = static_cast<std::uint32_t>(config.chunk.count);
  rules.grant_timeout = config.grant_timeout;
  rules.trees_again_max = config.trees_again_max;
  rules.user = {config.user_jobs_max, user_share_percent(config)};
}

/// Applies all of it or nothing. Running jobs keep their grants.
Result<> reload(Config& config, Rules& rules, Service& service, Logger& log,
                const control::Reloader<Config>& reloader) {
  auto again = reloader.read(config);
  if (!again) return tl::unexpected(again.error());
  auto reservations = read_reservations(again->config);
  if (!reservations) return tl::unexpected(reservations.error());
  auto described = read_fabric(again->config);
  if (!described) return tl::unexpected(described.error());
  config = again->config;
  take_options(rules, config);
  service.set_rules(rules);
  const auto count = reservations->count();
  service.set_reservations(*std::move(reservations));
  again->tell(log);
  if (!rules.open) service.fabric_changes(*described);
  SUMAC_INFO(log, "SIGHUP: {} reservations read{}", count, rules.open ? "" : ", and the fabric");
  return {};
}

Result<> serve(Config& config, int ready_fd, Logger& log, const control::Reloader<Config>& reloader) {
  // Each caller is a connection, and gRPC has no limit of its own. The usual 1,024 descriptors are too few for the
  // hosts of a cluster, and strangers could soon use them up.
  (void)control::descriptors_for_strangers(kDescriptorsOfCaller * kCallersWanted + http::ServerLimits{}.connections);
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return tl::unexpected(signals.error());
  if (auto ready = prepare_hmac(); !ready) return ready;
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  auto fabric = read_fabric(config);
  if (!fabric) return tl::unexpected(fabric.error());
  if (auto told = tell_stand_ins(config, log); !told) return told;
  auto tls = control::Tls::load({config.tls_ca, config.tls_cert, config.tls_key, config.tls_dir},
                                control::CertRole::manager, "");
  if (!tls) return tl::unexpected(tls.error());
  if (auto legal = control::check_endpoints(config.listen, config.allow_insecure, tls->get()); !legal)
    return within("--listen", legal.error());
  auto metrics =
      metrics::Exporter::start({config.metrics_listen, config.metrics_cert, config.metrics_key, config.metrics_token,
                                [tls = *tls] { return tls ? tls->end() : std::nullopt; }, &log},
                               [&wake] { wake->set(); });
  if (!metrics) return tl::unexpected(metrics.error());
  auto page = page::Page::start(
      {config.page_listen, config.page_cert, config.page_key, std::string(control::version_text()), &log},
      [&wake] { wake->set(); });
  if (!page) return tl::unexpected(page.error());
  auto users = control::DaemonUsers::parse(config.daemon_users);
  if (!users) return tl::unexpected(users.error());
  if (config.renew * 2 > config.lease)
    return fail(Errc::invalid, "--renew {} ms must be at most half of --lease {} ms", config.renew.count(),
                config.lease.count());
  auto reservations = read_reservations(config);
  if (!reservations) return tl::unexpected(reservations.error());

  Rules rules;
  take_options(rules, config);
  rules.lease = config.lease;
  rules.renew_every = config.renew;
  rules.node_away = config.node_away;
  rules.open = config.fabric.empty();
  auto state = State::open(config.state_dir);
  if (!state) return tl::unexpected(state.error());
  auto manager = std::make_unique<Manager>(*fabric, rules, *state->journal);
  if (auto has_trees = manager->check(); !has_trees && !rules.open) return within(config.fabric, has_trees.error());
  Service service(std::move(manager), log, [&wake] { wake->set(); });
  service.set_page(page->get());
  service.restore(state->saved);
  service.set_reservations(*std::move(reservations));
  auto server = control::Server::start(
      config.listen, [&service](control::CallerOf caller_of) { return service.door(std::move(caller_of)); },
      {.tls = tls->get(), .users = *std::move(users), .log = &log});
  if (!server) return tl::unexpected(server.error());
  const auto* how = *tls ? " with mutual TLS" : "";
  if (rules.open)
    SUMAC_INFO(log, "sharp_am {} listens on {}{}; no fabric file: the fabric is what registers",
               control::version_text(), server->endpoint(), how);
  else
    SUMAC_INFO(log, "sharp_am {} listens on {}{}; fabric {}: {} hosts, {} nodes, {} trees", control::version_text(),
               server->endpoint(), how, config.fabric, fabric->hosts.size(), fabric->nodes.size(), fabric->trees);
  if (config.state_dir.empty()) SUMAC_INFO(log, "no --state-dir: jobs are forgotten when this process ends");
  if (auto said = control::announce_ready(ready_fd); !said) return said;

  for (;;) {
    pollfd fds[] = {{signals->fd(), POLLIN, 0}, {wake->fd(), POLLIN, 0}};
    ::poll(fds, 2, control::poll_timeout(monotonic_now(), service.next_deadline()));
    wake->clear();
    service.tick(monotonic_now());
    if (*metrics && (*metrics)->wanted()) (*metrics)->answer(service.metrics());
    if (*page && (*page)->wanted()) (*page)->give(service.snapshot((*page)->known()));
    while (const auto signal = signals->take()) {
      if (*signal == SIGHUP) {
        reloader.reopen_log(log);
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

/// glibc keeps freed blocks for each thread, up to 240 KiB. gRPC's threads take turns, so these stores fill for many hours in a manager
/// whose daemons come and go, which looks like a leak. The setting that keeps them small is read when a process starts.
void start_with_small_stores(char** argv) {
  constexpr const char* kSettings = "GLIBC_TUNABLES";
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);  // An emulator is no sharp_am.
  if (!error && ::getenv(kSettings) == nullptr && ::setenv(kSettings, "glibc.malloc.tcache_max=128", 1) == 0)
    ::execv(program.c_str(), argv);  // If it fails, this process goes on as it is.
}

}  // namespace
}  // namespace sumac::manager

int main(int argc, char** argv) {
  using namespace sumac::manager;
  start_with_small_stores(argv);
  return sumac::control::run_daemon<Config>(kOptions, kText, argc, argv, serve);
}
