// `sumac up`, `sumac down`, `sumac status`: manager, one node and sharpd on this machine, for as long as the user wants
// them.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/clock.hpp"
#include "base/host_name.hpp"
#include "base/tell.hpp"
#include "control/identity.hpp"
#include "launch/daemon.hpp"
#include "launch/log_file.hpp"
#include "tools/commands.hpp"
#include "tools/local_daemons.hpp"
#include "tools/manager_status.hpp"
#include "tools/run/children.hpp"
#include "tools/run/signals.hpp"
#include "tools/up/place.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kUpUsage =
    "usage: sumac up [--transport tcp|ucx]\n\n"
    "Starts sharp_am, one sharp_an and sharpd on this machine, without root, and returns when a job can begin. What "
    "runs already\n"
    "is left alone; what has died is started again. Prints the variable that programs need, so that\n\n"
    "  eval \"$(sumac up)\"\n"
    "  sharp_hello\n"
    "  sumac down\n\n"
    "is a first try. Everything lies in one directory: SUMAC_RUN_DIR, else /run/sumac (root), else "
    "$XDG_RUNTIME_DIR/sumac, else\n"
    "/tmp/sumac-UID.\n";
constexpr const char* kDownUsage =
    "usage: sumac down\n\nEnds what `sumac up` started, also after one of it has died, and removes its directory with "
    "the logs.\n";
constexpr const char* kStatusUsage =
    "usage: sumac status [--json]\n\n"
    "What `sumac up` started: its processes and logs, and what the manager says of nodes and jobs.\n"
    "Exit status 0: all of it runs. 1: one has died. 3: nothing is up.\n";
constexpr int kNothingUp = 3;

/// The name of the fabric, which is the title of its page.
std::string machine_name() {
  const std::string name = host_name();
  return control::is_certificate_name(name) ? name : "this-machine";
}

bool wants_help(const Arguments& arguments) {
  return !arguments.empty() && (arguments[0] == "--help" || arguments[0] == "-h");
}

/// The daemons that this very call has started; they are ended again unless all went well.
struct Fresh {
  const UpPlace& place;
  std::vector<std::pair<std::string, pid_t>> started;
  ~Fresh() {
    for (; !started.empty(); started.pop_back()) {
      const auto& [name, pid] = started.back();
      end_process(name, pid);
      place.forget(name);
    }
  }
};

/// sharpd listens before it is registered with the manager; a caller that looks right after us must not see one host
/// too few.
Result<> until_sharpd_is_registered(const UpPlace& place, int interrupt_fd) {
  const Time deadline = monotonic_now() + Seconds(10);
  for (;;) {
    const auto manager = ask_manager("unix:" + place.inner("manager.sock"));
    if (!manager) return tl::unexpected(manager.error());
    if ((*manager)["sharpds"].get<std::uint64_t>() > 0) return {};
    if (const auto sharpd = place.process("sharpd"); !sharpd || !sharpd->alive)
      return fail(Errc::lost, "sharpd has died; {}", launch::last_words(place.log("sharpd")));
    if (monotonic_now() >= deadline)
      return fail(Errc::timeout, "sharpd has not reached the manager in 10 s; {}",
                  launch::last_words(place.log("sharpd")));
    pollfd interrupt{interrupt_fd, POLLIN, 0};
    if (::poll(&interrupt, 1, 10) > 0) return fail(Errc::interrupted, "interrupted while sharpd registered");
  }
}

Result<> start_missing(const UpPlace& place, const Commands& commands, int interrupt_fd) {
  Fresh fresh{place, {}};
  std::vector<std::string> words;
  for (const auto& [name, command] : commands) {
    const auto before = place.process(name);
    if (before && before->alive) {
      words.push_back(fmt::format("{} (pid {}) is up already", name, before->pid));
      continue;
    }
    if (before) tell("sumac: {} (pid {}) has died; {}", name, before->pid, launch::last_words(place.log(name)));
    auto pid =
        launch::start_lasting({.name = name, .command = command, .log = place.log(name), .interrupt_fd = interrupt_fd},
                              [&, &name = name](pid_t child) {
                                fresh.started.emplace_back(name, child);
                                return place.record(name, child);
                              });
    if (!pid) return tl::unexpected(pid.error());
    words.push_back(fmt::format("{} (pid {}) started", name, *pid));
  }
  if (auto registered = until_sharpd_is_registered(place, interrupt_fd); !registered) return registered;
  tell("sumac: {}; logs in {}; `sumac page` shows them in a browser, `sumac down` ends them", fmt::join(words, ", "),
       place.path());
  fresh.started.clear();
  return {};
}

/// A shell reads the word as it is here: our output is meant for `eval`.
std::string quoted_for_shell(const std::string& word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

Result<> up(const std::string& transport) {
  auto signals = make_signal_fd();
  if (!signals) return tl::unexpected(signals.error());
  auto interrupts = make_interrupt_fd();
  if (!interrupts) return tl::unexpected(interrupts.error());
  auto place = UpPlace::make();
  if (!place) return tl::unexpected(place.error());
  if (auto locked = place->lock(); !locked) return locked;
  auto commands = local_daemon_commands(
      {.fabric = place->inner("fabric.yaml"),
       .manager_socket = place->inner("manager.sock"),
       .sharpd_socket = place->sharpd_socket(),
       .transport = transport,
       .manager_options = {"--state-dir", place->inner("state"), "--page-listen", "127.0.0.1:0"}});
  if (!commands) return tl::unexpected(commands.error());
  if (auto written = write_local_fabric(place->inner("fabric.yaml"), machine_name()); !written) return written;
  const bool none_before =
      std::ranges::none_of(*commands, [&](const auto& each) { return place->process(each.first).has_value(); });
  if (auto started = start_missing(*place, *commands, interrupts->get()); !started) {
    if (none_before) {
      if (auto removed = place->remove(); !removed) tell("sumac: {}", removed.error().context);
    }
    return started;
  }
  fmt::print("export SHARP_COLL_SHARPD_SOCKET_NAME={}\n", quoted_for_shell(place->sharpd_socket()));
  return {};
}

constexpr const char* kDaemons[] = {"sharp_am", "sharp_an", "sharpd"};

/// One line of `sumac status` and its JSON.
nlohmann::json describe(const UpPlace& place, const std::string& name) {
  const auto process = place.process(name);
  nlohmann::json entry{{"name", name}, {"alive", process && process->alive}, {"log", place.log(name)}};
  if (process) entry["pid"] = process->pid;
  if (process && !process->alive) {
    const auto last = launch::last_lines(place.log(name), 1);
    entry["last_words"] = last.empty() ? "it said nothing" : last.front();
  }
  return entry;
}

void print_status(const nlohmann::json& top) {
  for (const auto& daemon : top["daemons"]) {
    const bool alive = daemon["alive"];
    fmt::print("{:8}  {}  log {}{}\n", daemon["name"].get<std::string>(),
               alive ? fmt::format("runs, pid {}", daemon["pid"].get<int>())
                     : (daemon.contains("pid") ? "has died" : "was never started"),
               daemon["log"].get<std::string>(),
               daemon.contains("last_words") ? ": " + daemon["last_words"].get<std::string>() : "");
  }
  fmt::print("socket    {}\n", top["socket"].get<std::string>());
  if (top.contains("manager_error")) fmt::print("manager   {}\n", top["manager_error"].get<std::string>());
  if (!top.contains("manager")) return;
  const auto& manager = top["manager"];
  const auto registered =
      std::ranges::count_if(manager["nodes"], [](const auto& node) { return node["registered"].template get<bool>(); });
  fmt::print("manager   {} of {} nodes registered, {} sharpds, {} jobs: `sharp_cmd jobs` lists them\n", registered,
             manager["nodes"].size(), manager["sharpds"].get<std::uint64_t>(), manager["jobs"].size());
}

}  // namespace

int up_command(const Arguments& arguments) {
  std::string transport = transport_of_environment();
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    if (*at == "--help" || *at == "-h") {
      fmt::print("{}", kUpUsage);
      return 0;
    }
    if (*at != "--transport") return complain(fmt::format("up: no option {}: see `sumac up --help`", *at), 2);
    if (++at == arguments.end() || (*at != "tcp" && *at != "ucx")) return complain("up: --transport is tcp or ucx", 2);
    transport = *at;
  }
  if (auto done = up(transport); !done)
    return complain("up: " + done.error().context, done.error().code == Errc::interrupted ? 128 + SIGINT : 1);
  return 0;
}

int down_command(const Arguments& arguments) {
  if (wants_help(arguments)) {
    fmt::print("{}", kDownUsage);
    return 0;
  }
  if (!arguments.empty()) return complain(fmt::format("down: no option {}: see `sumac down --help`", arguments[0]), 2);
  auto place = UpPlace::find();
  const auto nothing = [](const Error& error) {
    if (error.code != Errc::not_found) return complain("down: " + error.context);
    tell("sumac: {}", error.context);
    return 0;
  };
  if (!place) return nothing(place.error());
  if (auto locked = place->lock(); !locked) return nothing(locked.error());
  std::vector<std::string> words;
  // The last one first, because sharpd releases its jobs while the manager still runs.
  for (auto at = std::rbegin(kDaemons); at != std::rend(kDaemons); ++at) {
    const std::string name = *at;
    const auto process = place->process(name);
    if (!process) continue;
    if (process->alive) end_process(name, process->pid);
    words.push_back(fmt::format("{} (pid {}) {}", name, process->pid, process->alive ? "ended" : "had died before"));
  }
  if (auto removed = place->remove(); !removed) return complain("down: " + removed.error().context);
  tell("sumac: {}", words.empty() ? "nothing ran" : fmt::format("{}", fmt::join(words, ", ")));
  return 0;
}

int status_command(const Arguments& arguments) {
  if (wants_help(arguments)) {
    fmt::print("{}", kStatusUsage);
    return 0;
  }
  const bool as_json = arguments.size() == 1 && arguments[0] == "--json";
  if (!arguments.empty() && !as_json)
    return complain(fmt::format("status: no option {}: see `sumac status --help`", arguments[0]), 2);
  const auto place = UpPlace::find();
  if (!place) {
    if (place.error().code != Errc::not_found) return complain("status: " + place.error().context);
    if (as_json)
      fmt::print("{}\n", nlohmann::json{{"up", false}}.dump());
    else
      fmt::print("{}\n", place.error().context);
    return kNothingUp;
  }
  nlohmann::json top{{"up", true}, {"directory", place->path()}, {"socket", place->sharpd_socket()}};
  bool all_alive = true;
  for (const char* name : kDaemons) {
    top["daemons"].push_back(describe(*place, name));
    all_alive &= top["daemons"].back()["alive"].get<bool>();
  }
  if (top["daemons"][0]["alive"].get<bool>()) {
    if (auto manager = ask_manager("unix:" + manager_socket_of_up()))
      top["manager"] = *std::move(manager);
    else
      top["manager_error"] = manager.error().context;
  }
  if (as_json)
    fmt::print("{}\n", top.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print_status(top);
  return all_alive ? 0 : 1;
}

}  // namespace sumac::tools
