// `sumac run-host` is the part of `sumac run` on one host of several. It reads its settings from its standard input and
// lives until that ends: whatever happens to the program, to its user or to the connection, the daemons here end.
//
// Input:  "KEY VALUE" lines, with a value of several lines under its key repeatedly, then "go". "tls/FILE" is a file
// for the daemons: certificates and keys are only sent this way.
// Output: "up", or "failed REASON"; later perhaps "died NAME AND STATUS".
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <map>
#include <string_view>

#include "launch/daemon.hpp"
#include "tools/addresses.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/run/children.hpp"
#include "tools/run/pki.hpp"
#include "tools/run/signals.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kUsage =
    "usage: sumac run-host\n\nStarted by `sumac run --hosts` on each host; told on its standard input what to start "
    "there. Not for people.\n";

using Settings = std::map<std::string, std::string>;

std::string get(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}

/// Errc::interrupted: the caller is gone.
Result<Settings> read_settings(int interrupt_fd) {
  Settings settings;
  std::string text;
  for (;;) {
    pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) return fail_errno("poll");
    if (wait[1].revents != 0) return fail(Errc::interrupted, "interrupted");
    char part[4096];
    const auto got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(Errc::interrupted,
                  "standard input ended before its `go` line: `sumac run` starts this command by itself");
    text.append(part, static_cast<std::size_t>(got));
    for (auto newline = text.find('\n'); newline != std::string::npos; newline = text.find('\n')) {
      const auto line = text.substr(0, newline);
      text.erase(0, newline + 1);
      if (line == "go") return settings;
      const auto space = line.find(' ');
      if (space == std::string::npos) return fail(Errc::invalid, "'{}' is not understood: install one version", line);
      auto& value = settings[line.substr(0, space)];
      value += (value.empty() ? "" : "\n") + line.substr(space + 1);
    }
    if (text.size() > 65536)
      return fail(Errc::invalid,
                  "standard input has a line of more than 64 KiB: install one version of Sumac on all hosts");
  }
}

TlsTexts tls_texts(const Settings& settings) {
  constexpr std::string_view kFile = "tls/";
  TlsTexts texts;
  for (const auto& [key, value] : settings)
    if (key.starts_with(kFile) && key.find('/', kFile.size()) == std::string::npos)
      texts[key.substr(kFile.size())] = value + "\n";
  return texts;
}

Result<std::vector<launch::Daemon>> start(const Settings& settings, const std::string& directory, int interrupt_fd) {
  const auto bin = bin_directory();
  const auto manager = get(settings, "manager");
  const auto tls = tls_texts(settings);
  if (!tls.empty())
    if (auto written = write_tls(directory, tls); !written) return tl::unexpected(written.error());
  std::vector<std::pair<std::string, std::vector<std::string>>> commands;
  if (const auto node = get(settings, "node"); !node.empty()) {
    const auto manager_host = manager.substr(0, manager.rfind(':'));
    auto own =
        address_towards(manager_host.starts_with('[') ? manager_host.substr(1, manager_host.size() - 2) : manager_host);
    if (!own) return within("address towards the manager", own.error());
    std::vector<std::string> words{bin + "/sharp_an", "--name",         node, "--manager", manager,
                                   "--listen",        own->with_port(0)};
    if (!own->device.empty()) words.insert(words.end(), {"--device", own->device});
    if (const auto transport = get(settings, "transport"); !transport.empty())
      words.insert(words.end(), {"--transport", transport});
    for (auto& word : node_of_one_run()) words.push_back(std::move(word));
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

/// Returns false if nobody reads any more.
bool say(const std::string& line) {
  const auto text = line + "\n";
  return ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void attend(std::vector<launch::Daemon>& daemons, int signal_fd) {
  for (;;) {
    pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) return;
    char part[256];
    if (wait[0].revents != 0 && ::read(STDIN_FILENO, part, sizeof part) <= 0) return;
    signalfd_siginfo info{};
    while (::read(signal_fd, &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) return;
    for (auto& daemon : daemons)
      if (const auto words = daemon.obituary(); words && !say("died " + *words)) return;
  }
}

}  // namespace

int run_host_command(const Arguments& arguments) {
  if (!arguments.empty()) {
    fmt::print("{}", kUsage);
    return arguments[0] == "--help" || arguments[0] == "-h" ? 0 : 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  const auto failed = [](const Error& error) {
    say("failed " + error.context);
    return 1;
  };
  auto signals = make_signal_fd();
  if (!signals) return failed(signals.error());
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return failed(interrupts.error());
  auto settings = read_settings(interrupts->get());
  if (!settings) return failed(settings.error());
  auto directory = RunDirectory::make_at(get(*settings, "directory"));
  if (!directory) return failed(directory.error());
  if (get(*settings, "keep_logs") == "1") directory->keep();
  auto daemons = start(*settings, directory->path(), interrupts->get());
  if (!daemons) return failed(daemons.error());
  if (say("up")) attend(*daemons, signals->get());
  while (!daemons->empty()) daemons->pop_back();  // sharpd ends first: it releases the job while its node still runs.
  return 0;
}

}  // namespace sumac::tools
