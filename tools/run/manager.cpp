#include "tools/run/manager.hpp"

#include <unistd.h>

#include <fstream>
#include <string_view>

#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"

namespace sumac::tools {
namespace {

/// One switch represents the network between them, because nothing more is known.
Result<> write_fabric(const ManagerOfRun& wanted, const std::string& path) {
  std::ofstream file(path);
  file << "# The hosts of one job, on one network; nodes on the first of them.\nname: run\nswitches: "
          "[network]\nhosts:\n";
  for (const auto& host : wanted.hosts) file << "  " << host << ": {leaf: network}\n";
  file << "nodes:\n";
  for (std::size_t i = 0; i < wanted.nodes; ++i)
    file << "  " << node_on(wanted.hosts[i]) << ": {host: " << wanted.hosts[i] << "}\n";
  file << "manager: {switch: network}\n";
  if (!file.flush()) return fail(Errc::io, "{}: can't be written", path);
  return {};
}

/// When this returns, the manager has its certificate; returns nothing if clear text was asked for.
Result<std::optional<RunAuthority>> give_certificate(const ManagerOfRun& wanted) {
  if (wanted.allow_insecure) return std::optional<RunAuthority>();
  auto authority = RunAuthority::make();
  if (!authority) return tl::unexpected(authority.error());
  auto texts = authority->issue({{control::CertRole::manager, "run"}});
  if (!texts) return tl::unexpected(texts.error());
  if (auto written = write_tls(wanted.directory, *texts); !written) return tl::unexpected(written.error());
  return std::optional(*std::move(authority));
}

Result<std::string> listening(const std::string& log) {
  constexpr std::string_view kSays = " listens on ";
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    if (const auto at = line.find(kSays); at != std::string::npos) {
      const auto from = at + kSays.size();
      return line.substr(from, line.find_first_of(" ;", from) - from);
    }
  return fail(Errc::internal, "{}: sharp_am does not say where it listens", log);
}

}  // namespace

std::string node_on(const std::string& host) { return "node-" + host; }

std::vector<control::Identity> holders_on(const std::string& host, bool has_node) {
  std::vector<control::Identity> holders{{control::CertRole::host, host}};
  if (has_node) holders.push_back({control::CertRole::node, node_on(host)});
  return holders;
}

Result<StartedManager> start_manager(const ManagerOfRun& wanted, int interrupt_fd) {
  const auto fabric = wanted.directory + "/fabric.yaml", log = wanted.directory + "/sharp_am.log";
  if (auto written = write_fabric(wanted, fabric); !written) return tl::unexpected(written.error());
  std::vector<std::string> command{bin_directory() + "/sharp_am",
                                   "--fabric",
                                   fabric,
                                   "--listen",
                                   net::format_address(wanted.address),
                                   "--user-share-max-percent",
                                   "100",
                                   "--log-level",
                                   "3",
                                   "--log-file",
                                   log};
  for (auto& word : manager_of_one_run()) command.push_back(std::move(word));
  if (wanted.allow_insecure) command.emplace_back("--allow-insecure");
  auto authority = give_certificate(wanted);
  if (!authority) return tl::unexpected(authority.error());
  if (*authority)
    for (auto& word : tls_options(wanted.directory)) command.push_back(std::move(word));
  if (::access(command[0].c_str(), X_OK) < 0)
    return fail(Errc::invalid, "{} is not there: build it, or install the daemons beside `sumac`", command[0]);
  auto daemon =
      launch::Daemon::start({.name = "sharp_am", .command = command, .log = log, .interrupt_fd = interrupt_fd});
  if (!daemon) return tl::unexpected(daemon.error());
  auto endpoint = listening(log);
  if (!endpoint) return tl::unexpected(endpoint.error());
  return StartedManager{*std::move(daemon), *std::move(endpoint), *std::move(authority)};
}

}  // namespace sumac::tools
