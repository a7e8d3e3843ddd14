// `sumac run-step` is the part of `sumac run` on one host of a Slurm step; the plug-in (bindings/slurm) starts it there before
// the step's tasks, as their user and with their environment, and gives the tasks the variables that it says.
//
// The tasks take the site's sharpd where it answers. Where none does, each host starts a sharpd, and the step's first host starts
// manager and node too. The hosts' certificates are made at the first host, over the meeting (meeting.hpp), whose secret the plug-in has put
// into the step's environment.
// Output: "say TEXT" for the user, "set NAME=VALUE" for each variable, then "up". What it started ends with its standard input.
#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "net/own_address.hpp"
#include "tools/commands.hpp"
#include "tools/run/choose.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/host.hpp"
#include "tools/run/host_list.hpp"
#include "tools/run/lifeline.hpp"
#include "tools/run/manager.hpp"
#include "tools/run/meeting.hpp"
#include "tools/run/program.hpp"
#include "tools/run/signals.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kUsage =
    "usage: sumac run-step tree|host INDEX PROGRAM [ARGUMENTS...]\n\nStarted by Slurm's plug-in on each host of a "
    "step. "
    "Not for people.\n";
constexpr Duration kMeetWithin = Seconds(10);
constexpr const char* kSocketVariable = "SHARP_COLL_SHARPD_SOCKET_NAME";

struct Step {
  std::vector<HostEntry> hosts;
  std::vector<std::string> names;  ///< The hosts' names in the fabric.
  std::size_t index = 0;           ///< This host.
  Secret secret{};
};

Result<Step> step_of(const std::vector<std::string>& environment, const std::string& index) {
  Step step;
  auto hosts = parse_host_list(value_of(environment, "SLURM_STEP_NODELIST").value_or(""));
  if (!hosts) return within("SLURM_STEP_NODELIST", hosts.error());
  step.hosts = *std::move(hosts);
  step.names = fabric_names(step.hosts);
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), step.index);
  if (error != std::errc{} || end != index.data() + index.size() || step.index >= step.hosts.size())
    return fail(Errc::invalid, "host {} of {}", index, step.hosts.size());
  auto secret = read_secret(value_of(environment, "SLURM_SUMAC_SECRET").value_or(""));
  if (!secret) return tl::unexpected(secret.error());
  step.secret = *secret;
  return step;
}

bool answers(const std::string& socket) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (socket.size() >= sizeof address.sun_path) return false;
  socket.copy(address.sun_path, socket.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void add_tls(Settings& settings, const TlsTexts& texts) {
  for (const auto& [file, text] : texts) settings["tls/" + file] = text;
}

/// The first host: starts the manager and gives every host its certificates.
Result<Settings> as_first(const Step& step, Served& served, int interrupt_fd) {
  auto own = net::address_towards(step.hosts[step.hosts.size() > 1 ? 1 : 0].name, interrupt_fd);
  if (!own) return tl::unexpected(own.error());
  auto manager =
      start_manager({.hosts = step.names, .address = own->address, .directory = served.directory.path()}, interrupt_fd);
  if (!manager) return tl::unexpected(manager.error());
  served.daemons.push_back(std::move(manager->daemon));
  auto place = MeetingPlace::open(step.secret);
  if (!place) return tl::unexpected(place.error());
  std::vector<std::string> missing(step.names.begin() + 1, step.names.end());
  const auto answer = [&](const std::string& words) -> Result<std::string> {
    const auto said = settings_in(words);
    const auto name = said ? get(*said, "host") : std::string();
    if (std::ranges::find(step.names, name) == step.names.end()) return fail(Errc::invalid, "no host of the step");
    const auto texts = manager->authority->certify(holders_on(name, false), files_under(*said, "csr/"));
    if (!texts) return tl::unexpected(texts.error());
    std::erase(missing, name);
    auto reply = lines_of("manager", manager->endpoint);
    for (const auto& [file, text] : *texts) reply += lines_of("tls/" + file, text);
    return reply;
  };
  if (auto met = place->answer(missing.size(), answer, deadline_after(monotonic_now(), kMeetWithin), interrupt_fd);
      !met)
    return met.error().code != Errc::timeout || missing.empty()
               ? tl::unexpected(met.error())
               : fail(Errc::timeout,
                      "host {} has not come in {} s: install sumac-slurm and its line in plugstack.conf on every host",
                      missing[0], std::chrono::duration_cast<Seconds>(kMeetWithin).count());
  Settings settings{{"node", node_on(step.names[0])}, {"manager", manager->endpoint}};
  auto texts = manager->authority->issue(holders_on(step.names[0], true));
  if (!texts) return tl::unexpected(texts.error());
  add_tls(settings, *texts);
  return settings;
}

Result<Settings> as_another(const Step& step, int interrupt_fd) {
  auto keys = make_keys(step.names[step.index], false);
  if (!keys) return tl::unexpected(keys.error());
  auto words = lines_of("host", step.names[step.index]);
  for (const auto& [file, text] : keys->requests) words += lines_of("csr/" + file, text);
  const auto answer =
      ask_first(step.hosts[0].name, step.secret, words, deadline_after(monotonic_now(), kMeetWithin), interrupt_fd);
  if (!answer) return tl::unexpected(answer.error());
  auto settings = settings_in(*answer);
  if (settings) settings->merge(keys->settings);
  return settings;
}

Result<Served> start_daemons(const Step& step, int interrupt_fd) {
  // A TMPDIR may be shared by hosts, or be missing here; /tmp is each host's own.
  ::unsetenv("TMPDIR");
  auto directory = RunDirectory::make();
  if (!directory) return tl::unexpected(directory.error());
  Served served{*std::move(directory), {}};
  auto settings = step.index == 0 ? as_first(step, served, interrupt_fd) : as_another(step, interrupt_fd);
  if (!settings) return tl::unexpected(settings.error());
  (*settings)["host"] = step.names[step.index];
  const auto own = served.directory.path() + "/host";  // Beside the manager's files.
  if (::mkdir(own.c_str(), 0700) < 0) return fail_errno(own);
  auto daemons = start_host_daemons(*settings, own, interrupt_fd);
  if (!daemons) return tl::unexpected(daemons.error());
  for (auto& daemon : *daemons) served.daemons.push_back(std::move(daemon));
  return served;
}

/// Says the variables that the tasks have to get.
void say_environment(const RunPlaces& places, const std::vector<std::string>& inherited) {
  for (const auto& variable : make_run_environment(places, inherited, {}).variables)
    if (std::ranges::find(inherited, variable) == inherited.end() && variable.find('\n') == std::string::npos)
      (void)say("set", variable);
}

}  // namespace

int run_step_command(const Arguments& arguments) {
  if (arguments.size() < 3 || (arguments[0] != "tree" && arguments[0] != "host")) {
    fmt::print("{}", kUsage);
    return 2;
  }
  ::signal(SIGPIPE, SIG_IGN);
  auto signals = make_signal_fd();
  auto interrupts = make_interrupt_fd();
  if (!signals || !interrupts) return 1;
  const auto inherited = own_environment();
  const auto looked = look_at({arguments.begin() + 2, arguments.end()}, inherited);
  RunPlaces places{.libraries = std::filesystem::path(bin_directory()).parent_path().string() + "/lib",
                   .address_sanitizer = needs_address_sanitizer(looked)};
  const auto choice = choose(looked, what_is_installed(places.libraries, inherited), false);
  for (const auto& warning : choice.warnings) (void)say("say", warning);
  places.component = choice.way == Choice::Way::component;
  places.preload = choice.library;
  std::optional<Served> served;
  if (arguments[0] == "tree") {
    const auto site = value_of(inherited, kSocketVariable).value_or("/run/sumac/sharpd.sock");
    auto step = step_of(inherited, arguments[1]);
    places.tree = places.one_host = false;
    if (answers(site)) {
      places.socket = site;
    } else if (!step) {
      (void)say("say", "no tree: " + step.error().context);
    } else if (auto started = start_daemons(*step, interrupts->get()); !started) {
      (void)say("say", "no tree: " + started.error().context);
    } else {
      served.emplace(*std::move(started));
      places.socket = served->directory.path() + "/host/sharpd.sock";
    }
    places.tree = !places.socket.empty();
    places.one_host = step && step->hosts.size() == 1;
  }
  say_environment(places, inherited);
  if (!say("up") || !served) return 0;
  attend(served->daemons, signals->get());
  while (!served->daemons.empty()) served->daemons.pop_back();
  return 0;
}

}  // namespace sumac::tools
