// sharpd: the control requests of this host's processes.
#include <signal.h>
#include <unistd.h>

#include "control/command_line.hpp"
#include "control/endpoint.hpp"
#include "hostd/config.hpp"
#include "hostd/server.hpp"

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
  return name;
}

Result<> serve(const Config& config, int ready_fd, Logger& log) {
  auto signals = control::Signals::block({SIGTERM, SIGINT});
  if (!signals) return tl::unexpected(signals.error());
  auto wake = control::WakeEvent::make();
  if (!wake) return tl::unexpected(wake.error());
  auto epoll = Server::make_epoll();
  if (!epoll) return tl::unexpected(epoll.error());
  if (auto legal = control::check_endpoint(config.manager, config.allow_insecure); !legal)
    return within("--manager", legal.error());
  auto host = host_name(config);
  if (!host) return tl::unexpected(host.error());
  auto sockets = net::HostServer::listen(config.socket, config.clients_max);
  if (!sockets) return tl::unexpected(sockets.error());
  Server server({*host, config.manager, config.manager_timeout}, *std::move(sockets), *wake, *std::move(epoll), log);
  SUMAC_INFO(log, "sharpd {} of host {} listens at {}; manager {}", control::version_text(), *host, config.socket,
             config.manager);
  if (auto said = control::announce_ready(ready_fd); !said) return said;
  for (;;) {
    if (auto ran = server.run_once(signals->fd()); !ran) return ran;
    if (const auto signal = signals->take()) {
      SUMAC_INFO(log, "signal {}: stopping", *signal);
      return {};
    }
  }
}

int run(int argc, char** argv) {
  auto started = control::start_daemon<Config>(kOptions, kText, argc, argv);
  if (started.done) return started.status;
  LogSink sink = descriptor_sink(STDERR_FILENO);
  if (!started.config.log_file.empty()) {
    auto file = file_sink(started.config.log_file);
    if (!file) return control::detail::config_error(kText, file.error());
    sink = *std::move(file);
  }
  Logger log(Logger::Form::daemon, log_level_from(started.config.log_level), std::move(sink));
  if (auto served = serve(started.config, started.ready_fd, log); !served) {
    fmt::print(stderr, "sharpd: {}\n", served.error().context);
    return control::kExitError;
  }
  return 0;
}

}  // namespace
}  // namespace sumac::hostd

int main(int argc, char** argv) { return sumac::hostd::run(argc, argv); }
