// sharp_am: the aggregation manager.
#include <poll.h>
#include <signal.h>

#include "control/command_line.hpp"
#include "control/endpoint.hpp"
#include "control/signals.hpp"
#include "fabricfile/fabricfile.hpp"
#include "manager/config.hpp"
#include "manager/service.hpp"

namespace sumac::manager {
namespace {

const control::DaemonText kText{
    "sharp_am", "the aggregation manager: trees, jobs and their quotas", "SUMAC_AM_", {"allow_insecure"}};

/// Milliseconds for poll(): rounded up, or a deadline would be met by spinning through its last one.
int poll_timeout(Time now, Time deadline) {
  if (deadline == kNever) return -1;
  if (deadline <= now) return 0;
  return static_cast<int>(std::chrono::ceil<Millis>(deadline - now).count());
}

Result<> serve(const Config& config, int ready_fd, Logger& log) {
  auto signals = control::Signals::block({SIGTERM, SIGINT, SIGHUP});
  if (!signals) return tl::unexpected(signals.error());
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  if (config.fabric.empty()) return fail(Errc::invalid, "no fabric file: give --fabric FILE.yaml");
  auto fabric = load_fabric(config.fabric);
  if (!fabric) return tl::unexpected(fabric.error());
  auto tree = topo::build_tree(*fabric);
  if (!tree) return within(config.fabric, tree.error());
  if (auto legal = control::check_endpoint(config.listen, config.allow_insecure); !legal)
    return within("--listen", legal.error());

  CoreRules rules;
  rules.quota.default_percent = config.default_percent;
  rules.quota.stream_window = config.stream_window;
  rules.quota.chunk_bytes = static_cast<std::uint32_t>(config.chunk.count);
  rules.grant_timeout = config.grant_timeout;
  Service service(Core(*fabric, *tree, rules), log, [&wake] { wake->set(); });
  auto server = control::Server::start(config.listen, service);
  if (!server) return tl::unexpected(server.error());
  SUMAC_INFO(log, "sharp_am {} listens on {}; fabric {}: {} hosts, {} nodes, root {}", control::version_text(),
             server->endpoint(), config.fabric, fabric->hosts.size(), fabric->nodes.size(),
             tree->nodes[tree->root].name);
  if (auto said = control::announce_ready(ready_fd); !said) return said;

  for (;;) {
    pollfd fds[] = {{signals->fd(), POLLIN, 0}, {wake->fd(), POLLIN, 0}};
    ::poll(fds, 2, poll_timeout(monotonic_now(), service.next_deadline()));
    wake->clear();
    service.tick(monotonic_now());
    while (const auto signal = signals->take()) {
      if (*signal == SIGHUP) {
        SUMAC_WARN(log, "SIGHUP: the fabric is read at start only: restart sharp_am when no job runs");
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
