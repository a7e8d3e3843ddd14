// `sumac run-host` is the part of `sumac run`, or of a job of Python's, on one host of several. It is told on its standard
// input what to start, in the form of talk.hpp, and lives until that ends: whatever happens to the program, to its user or
// to the connection, the daemons here end.
//
// "tls/FILE" is a file for the daemons: certificates and keys are only sent this way. With "keys 1" the keys are made
// here and stay here: it answers with the requests for their certificates ("csr/FILE") and "asks", and then reads
// "manager" and the certificates. With "parent PID" it ends with that process, its parent, as well.
// Output: "socket PATH", where ranks reach sharpd, and "up"; later perhaps "died NAME AND STATUS".
#include <fmt/core.h>
#include <unistd.h>

#include "net/own_address.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/run/host.hpp"
#include "tools/run/lifeline.hpp"
#include "tools/run/manager.hpp"
#include "tools/run/pki.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kUsage =
    "usage: sumac run-host\n\nStarted on each host by `sumac run --hosts`, or by a job of Python's; told on its "
    "standard input what to start there. Not for people.\n";

/// Makes the keys of the host's daemons, and asks for their certificates. Adds the keys and the answer to `settings`.
Result<> ask_for_certificates(Settings& settings, Talk& talk, int interrupt_fd) {
  auto keys = make_keys(get(settings, "host"), !get(settings, "node").empty());
  if (!keys) return tl::unexpected(keys.error());
  for (const auto& [name, text] : keys->requests) (void)say("csr/" + name, text);
  if (!say("asks")) return fail(Errc::interrupted, "nobody reads what this host asks for");
  auto answer = talk.read(interrupt_fd);
  if (!answer) return tl::unexpected(answer.error());
  settings.merge(*answer);
  settings.merge(keys->settings);
  return {};
}

Result<Served> start(Talk& talk, Settings settings, int interrupt_fd) {
  if (get(settings, "keys") == "1")
    if (auto asked = ask_for_certificates(settings, talk, interrupt_fd); !asked) return tl::unexpected(asked.error());
  const auto named = get(settings, "directory");
  auto directory = named.empty() ? RunDirectory::make() : RunDirectory::make_at(named);
  if (!directory) return tl::unexpected(directory.error());
  if (get(settings, "keep_logs") == "1") directory->keep();
  auto daemons = start_host_daemons(settings, directory->path(), interrupt_fd);
  if (!daemons) return tl::unexpected(daemons.error());
  (void)say("socket", directory->path() + "/sharpd.sock");
  // sharpd is the last one, so it ends first: it releases the job while its node still runs.
  return Served{*std::move(directory), *std::move(daemons)};
}

}  // namespace

Result<HostKeys> make_keys(const std::string& host, bool has_node) {
  HostKeys keys;
  for (const auto& who : holders_on(host, has_node)) {
    auto made = control::make_request(who);
    if (!made) return tl::unexpected(made.error());
    keys.settings["tls/" + stem_of(who) + ".key"] = std::move(made->key);
    keys.requests[stem_of(who) + ".csr"] = std::move(made->request);
  }
  return keys;
}

Result<std::vector<launch::Daemon>> start_host_daemons(const Settings& settings, const std::string& directory,
                                                       int interrupt_fd) {
  const auto bin = bin_directory();
  const auto manager = get(settings, "manager");
  const auto tls = files_under(settings, "tls/");
  if (!tls.empty())
    if (auto written = write_tls(directory, tls); !written) return tl::unexpected(written.error());
  std::vector<std::pair<std::string, std::vector<std::string>>> commands;
  if (const auto node = get(settings, "node"); !node.empty()) {
    auto own = net::address_towards(net::host_of(manager), interrupt_fd);
    if (!own) return within("address towards the manager", own.error());
    std::vector<std::string> words{
        bin + "/sharp_an", "--name", node, "--manager", manager, "--listen", net::format_address(own->address)};
    if (!own->device.empty()) words.insert(words.end(), {"--device", own->device});
    if (const auto transport = get(settings, "transport"); !transport.empty())
      words.insert(words.end(), {"--transport", transport});
    commands.emplace_back("sharp_an", std::move(words));
  }
  commands.emplace_back("sharpd",
                        std::vector<std::string>{bin + "/sharpd", "--manager", manager, "--host", get(settings, "host"),
                                                 "--socket", directory + "/sharpd.sock"});
  std::vector<launch::Daemon> daemons;
  for (auto& [name, command] : commands) {
    if (get(settings, "allow_insecure") == "1") command.emplace_back("--allow-insecure");
    if (!tls.empty())
      for (auto& word : tls_options(directory)) command.push_back(std::move(word));
    if (::access(command[0].c_str(), X_OK) < 0)
      return fail(Errc::invalid, "{} is not there: install Sumac at the same place on every host", command[0]);
    auto daemon = launch::Daemon::start({.name = name,
                                         .command = command,
                                         .log = fmt::format("{}/{}.log", directory, name),
                                         .interrupt_fd = interrupt_fd});
    if (!daemon) return tl::unexpected(daemon.error());
    daemons.push_back(*std::move(daemon));
  }
  return daemons;
}

int run_host_command(const Arguments& arguments) { return serve(arguments, kUsage, start); }

}  // namespace sumac::tools
