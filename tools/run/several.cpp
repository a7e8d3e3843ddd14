#include "tools/run/several.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/read_file.hpp"
#include "net/own_address.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/run/children.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/manager.hpp"

namespace sumac::tools {
namespace {

std::string set_in_environment(const char* name) {
  const char* set = std::getenv(name);
  return set == nullptr ? "" : set;
}

/// Returns our address by which the hosts reach us. A host that is this machine tells nothing about the others.
Result<net::SocketAddress> manager_address(const SeveralHosts& several, int interrupt_fd) {
  if (!several.address.empty()) {
    auto named = net::address_towards(several.address, interrupt_fd);
    if (!named) return tl::unexpected(named.error());
    return named->address;
  }
  net::SocketAddress own;
  for (const auto& host : several.hosts) {
    auto found = net::address_towards(host.name, interrupt_fd);
    if (!found && found.error().code == Errc::interrupted) return tl::unexpected(found.error());
    if (!found) return within("give --address ADDR, where the hosts reach this machine", found.error());
    own = found->address;
    if (!found->loopback) break;
  }
  return own;
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

Result<std::vector<HostEntry>> read_hostfile(const std::string& path) {
  const auto text = read_file(path, "hostfile");
  if (!text) return within("--hostfile", text.error());
  return parse_hostfile(*text, path);
}

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
  auto own = manager_address(several, interrupt_fd);
  if (!own) return tl::unexpected(own.error());
  ManagerOfRun wanted{.hosts = {},
                      .nodes = several.nodes,
                      .address = *std::move(own),
                      .directory = directory,
                      .allow_insecure = several.allow_insecure};
  wanted.hosts = fabric_names(several.hosts);
  auto manager = start_manager(wanted, interrupt_fd);
  if (!manager) return tl::unexpected(manager.error());
  daemons.push_back(std::move(manager->daemon));
  std::vector<HostStart> starts;
  for (std::size_t i = 0; i < several.hosts.size(); ++i) {
    const auto& name = wanted.hosts[i];
    HostStart start{several.hosts[i].name,
                    {{"directory", directory_on_hosts(directory)}, {"host", name}, {"manager", manager->endpoint}}};
    if (i < several.nodes) start.settings["node"] = node_on(name);
    if (!several.transport.empty()) start.settings["transport"] = several.transport;
    if (several.allow_insecure) start.settings["allow_insecure"] = "1";
    if (several.keep_logs) start.settings["keep_logs"] = "1";
    if (manager->authority) {
      auto texts = manager->authority->issue(holders_on(name, i < several.nodes));
      if (!texts) return within(fmt::format("host {}", start.host), texts.error());
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
    const bool ours = is_our_variable(name) || name == "LD_LIBRARY_PATH" ||
                      (preload && (name == "LD_PRELOAD" || name == "ASAN_OPTIONS"));
    if (ours && !exports(command, name)) more.insert(more.end(), {"-x", name});
  }
  return insert_behind(std::move(command), launcher, more);
}

std::vector<std::string> mpirun_with_preload(std::vector<std::string> command, std::size_t launcher,
                                             bool address_sanitizer) {
  std::vector<std::string> more;
  for (const std::string_view name : {"LD_PRELOAD", "ASAN_OPTIONS"})
    if ((name == "LD_PRELOAD" || address_sanitizer) && !exports(command, name))
      more.insert(more.end(), {"-x", std::string(name)});
  return insert_behind(std::move(command), launcher, more);
}

std::vector<std::string> hydra_on(const SeveralHosts& several, std::vector<std::string> command, std::size_t launcher) {
  if (several.batch) return command;
  return insert_behind(std::move(command), launcher, {"-hosts", host_words(several)});
}

}  // namespace sumac::tools
