#include "tools/run/several.hpp"
#include "tools/run/children.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tools/addresses.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/run/children.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/pki.hpp"

namespace sumac::tools {
namespace {

std::string set_in_environment(const char* name) {
  const char* set = std::getenv(name);
  return set == nullptr ? "" : set;
}

std::string node_on(const std::string& host) { return "node-" + host; }

/// One switch represents the network between them, because nothing more is known.
Result<> write_fabric(const SeveralHosts& several, const std::string& path) {
  std::ofstream file(path);
  file << "# The hosts of one job, on one network; nodes on the first of them.\nname: run\nswitches: "
          "[network]\nhosts:\n";
  for (const auto& host : several.hosts) file << "  " << host.name << ": {leaf: network}\n";
  file << "nodes:\n";
  for (unsigned i = 0; i < several.nodes; ++i)
    file << "  " << node_on(several.hosts[i].name) << ": {host: " << several.hosts[i].name << "}\n";
  file << "manager: {switch: network}\n";
  if (!file.flush()) return fail(Errc::io, "{}: can't be written", path);
  return {};
}

/// Returns our address by which the hosts reach us. A host that is this machine tells nothing about the others.
Result<OwnAddress> manager_address(const SeveralHosts& several) {
  if (!several.address.empty()) return address_towards(several.address);
  std::optional<OwnAddress> own;
  Error last;
  for (const auto& host : several.hosts) {
    auto found = address_towards(host.name);
    if (!found) return within("give --address ADDR, where the hosts reach this machine", found.error());
    if (!found->loopback) return *found;
    own = *found;
  }
  return *own;
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

/// When this returns, the manager has its certificate; returns nothing if clear text was asked for.
Result<std::optional<RunAuthority>> give_certificates(const SeveralHosts& several, const std::string& directory) {
  if (several.allow_insecure) return std::optional<RunAuthority>();
  auto authority = RunAuthority::make();
  if (!authority) return tl::unexpected(authority.error());
  auto texts = authority->issue({{control::CertRole::manager, "run"}});
  if (!texts) return tl::unexpected(texts.error());
  if (auto written = write_tls(directory, *texts); !written) return tl::unexpected(written.error());
  return std::optional(*std::move(authority));
}

Result<TlsTexts> host_certificates(const RunAuthority& authority, const std::string& host, bool has_node) {
  std::vector<control::Identity> holders{{control::CertRole::host, host}};
  if (has_node) holders.push_back({control::CertRole::node, node_on(host)});
  return authority.issue(holders);
}

bool has(const std::vector<std::string>& words, std::initializer_list<std::string_view> flags) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return std::ranges::find(flags, word) != flags.end(); });
}

/// The user's own -x NAME or -x NAME=VALUE has precedence, because mpirun accepts each name only once.
bool exports(const std::vector<std::string>& command, std::string_view name) {
  for (std::size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == "-x" && (command[i + 1] == name || command[i + 1].starts_with(std::string(name) + "=")))
      return true;
  return false;
}

/// Returns the hosts as both mpirun and hydra read them: "a:4,b:4".
std::string host_words(const SeveralHosts& several) {
  std::string list;
  for (const auto& host : several.hosts)
    list += fmt::format("{}{}{}", list.empty() ? "" : ",", host.name,
                        host.slots == 0 ? std::string() : fmt::format(":{}", host.slots));
  return list;
}

std::vector<std::string> insert_behind(std::vector<std::string> command, std::size_t word,
                                       const std::vector<std::string>& more) {
  command.insert(command.begin() + static_cast<std::ptrdiff_t>(word) + 1, more.begin(), more.end());
  return command;
}

}  // namespace

Result<std::optional<SeveralHosts>> slurm_allocation() {
  auto list = set_in_environment("SLURM_JOB_NODELIST");
  if (list.empty()) list = set_in_environment("SLURM_NODELIST");
  if (list.empty()) return std::nullopt;
  auto hosts = parse_host_list(list);
  if (!hosts) return within("SLURM_JOB_NODELIST", hosts.error());
  return SeveralHosts{.hosts = *std::move(hosts),
                      // With --overlap it runs beside the program's own steps, not instead of them.
                      .launcher = "srun --overlap --nodes=1 --ntasks=1 --nodelist={host}",
                      .batch = true};
}

Result<> start_several(const SeveralHosts& several, std::vector<launch::Daemon>& daemons, RunHosts& hosts,
                       const std::string& directory, int interrupt_fd) {
  const auto fabric = directory + "/fabric.yaml", log = directory + "/sharp_am.log";
  auto own = manager_address(several);
  if (!own) return tl::unexpected(own.error());
  if (auto written = write_fabric(several, fabric); !written) return written;
  std::vector<std::string> manager{bin_directory() + "/sharp_am",
                                   "--fabric",
                                   fabric,
                                   "--listen",
                                   own->with_port(0),
                                   "--user-share-max-percent",
                                   "100",
                                   "--log-level",
                                   "3",
                                   "--log-file",
                                   log};
  for (auto& word : manager_of_one_run()) manager.push_back(std::move(word));
  if (several.allow_insecure) manager.emplace_back("--allow-insecure");
  auto authority = give_certificates(several, directory);
  if (!authority) return tl::unexpected(authority.error());
  if (*authority)
    for (auto& word : tls_options(directory)) manager.push_back(std::move(word));
  if (::access(manager[0].c_str(), X_OK) < 0)
    return fail(Errc::invalid, "{} is not there: build it, or install the daemons beside `sumac`", manager[0]);
  auto started =
      launch::Daemon::start({.name = "sharp_am", .command = manager, .log = log, .interrupt_fd = interrupt_fd});
  if (!started) return tl::unexpected(started.error());
  daemons.push_back(*std::move(started));
  auto endpoint = listening(log);
  if (!endpoint) return tl::unexpected(endpoint.error());
  std::vector<HostStart> starts;
  for (std::size_t i = 0; i < several.hosts.size(); ++i) {
    const auto& name = several.hosts[i].name;
    HostStart start{name, {{"directory", directory + kHostsSuffix}, {"host", name}, {"manager", *endpoint}}};
    if (i < several.nodes) start.settings["node"] = node_on(name);
    if (!several.transport.empty()) start.settings["transport"] = several.transport;
    if (several.allow_insecure) start.settings["allow_insecure"] = "1";
    if (several.keep_logs) start.settings["keep_logs"] = "1";
    if (*authority) {
      auto texts = host_certificates(**authority, name, i < several.nodes);
      if (!texts) return within(fmt::format("host {}", name), texts.error());
      for (auto& [file, text] : *texts) start.settings["tls/" + file] = std::move(text);
    }
    starts.push_back(std::move(start));
  }
  return hosts.start(starts, several.launcher, directory, interrupt_fd);
}

std::vector<std::string> mpirun_on(const SeveralHosts& several, std::vector<std::string> command, std::size_t launcher,
                                   const std::vector<std::string>& environment, bool preload) {
  std::vector<std::string> more;
  const bool named =
      has(command, {"--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile"});
  if (!several.batch && !named) more.insert(more.end(), {"--host", host_words(several)});
  if (several.own_launcher && several.launcher.find("{host}") == std::string::npos && !has(command, {"plm_rsh_agent"}))
    more.insert(more.end(), {"--mca", "plm_rsh_agent", several.launcher});
  for (const auto& variable : environment) {
    const auto name = variable.substr(0, variable.find('='));
    const bool ours = is_our_variable(name) || name == "LD_LIBRARY_PATH" || (preload && name == "LD_PRELOAD");
    if (ours && !exports(command, name)) more.insert(more.end(), {"-x", name});
  }
  return insert_behind(std::move(command), launcher, more);
}

std::vector<std::string> mpirun_with_preload(std::vector<std::string> command, std::size_t launcher) {
  if (exports(command, "LD_PRELOAD")) return command;
  return insert_behind(std::move(command), launcher, {"-x", "LD_PRELOAD"});
}

std::vector<std::string> hydra_on(const SeveralHosts& several, std::vector<std::string> command, std::size_t launcher) {
  if (several.batch) return command;
  return insert_behind(std::move(command), launcher, {"-hosts", host_words(several)});
}

}  // namespace sumac::tools
