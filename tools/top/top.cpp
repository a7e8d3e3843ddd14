// `sumac top`: the metrics of the daemons in a terminal, refreshed each second.
#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <future>
#include <thread>

#include "base/clock.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "tools/commands.hpp"
#include "tools/top/scrape.hpp"
#include "tools/top/view.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kHelp =
    "usage: sumac top [--once] [--interval SECONDS] [--token FILE] [--ca FILE] ENDPOINT...\n"
    "\n"
    "Shows what sharp_am, sharp_an and sharpd do now, from their metrics (--metrics-listen; docs/metrics.md).\n"
    "`sumac up` opens none by itself: its daemons take SUMAC_AM_METRICS_LISTEN, SUMAC_NODE_METRICS_LISTEN and\n"
    "SUMAC_HOSTD_METRICS_LISTEN (127.0.0.1:PORT) from its environment when it starts them.\n"
    "\n"
    "  ENDPOINT    HOST:PORT, https://HOST:PORT or unix:PATH\n"
    "  --once      print the figures of one interval, and stop (for scripts)\n"
    "  --interval  seconds between two looks, 1 to 3600 [1]\n"
    "  --token     file with the token of endpoints that want one; it is sent to https:// and unix: only\n"
    "  --ca        certificate of the authority for https:// (PEM) [the system's]\n"
    "\n"
    "MEDIAN and P99 are times of an operation at the node, WAIT P99 the wait for its slowest child: upper bounds,\n"
    "exact to a factor of two. Exit status 0: printed. 1: an endpoint does not answer (--once). 2: wrong usage.\n";

struct Command {
  bool once = false, help = false;
  int interval = 1;
  std::string token_file;
  top::Access access;
  std::vector<std::string> endpoints;
};

Result<Command> parse(const Arguments& words) {
  Command command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& word = words[i];
    if (word == "--once" || word == "--help" || word == "-h") {
      (word == "--once" ? command.once : command.help) = true;
    } else if (word == "--interval" || word == "--token" || word == "--ca") {
      if (++i == words.size()) return fail(Errc::invalid, "{} needs a value", word);
      const auto& value = words[i];
      if (word == "--token") command.token_file = value;
      if (word == "--ca") command.access.ca = value;
      if (word != "--interval") continue;
      const auto* end = value.data() + value.size();
      const auto [at, error] = std::from_chars(value.data(), end, command.interval);
      if (error != std::errc{} || at != end || command.interval < 1 || command.interval > 3600)
        return fail(Errc::invalid, "--interval {}: give whole seconds from 1 to 3600", value);
    } else if (word.starts_with("-")) {
      return fail(Errc::invalid, "unknown option {}", word);
    } else {
      command.endpoints.push_back(word);
    }
  }
  if (command.endpoints.empty() && !command.help)
    return fail(Errc::invalid,
                "name the daemons' addresses of --metrics-listen; `SUMAC_NODE_METRICS_LISTEN=127.0.0.1:9501 sumac up` "
                "opens one");
  return command;
}

/// Asks all daemons at once, because one that does not answer takes seconds.
void look(std::vector<top::Daemon>& daemons, const top::Access& access, double seconds) {
  std::vector<std::future<Result<std::string>>> pages;
  for (const auto& daemon : daemons) {
    auto allowed = access;
    if (!daemon.endpoint.starts_with("https://") && !daemon.endpoint.starts_with("unix:")) allowed.token.clear();
    pages.push_back(std::async(std::launch::async, [endpoint = daemon.endpoint, allowed = std::move(allowed)] {
      return top::scrape(endpoint, allowed);
    }));
  }
  for (std::size_t i = 0; i < daemons.size(); ++i) {
    auto page = pages[i].get();
    auto& daemon = daemons[i];
    daemon.why = page ? std::string() : page.error().context;
    daemon.before = page ? std::move(daemon.now) : top::Samples{};
    daemon.now = page ? top::parse(*page) : top::Samples{};
    daemon.seconds = seconds;
  }
}

}  // namespace

int top_command(const Arguments& arguments) {
  auto command = parse(arguments);
  if (!command) return complain("top: " + command.error().context + ": see `sumac top --help`", 2);
  if (command->help) return fmt::print("{}", kHelp), 0;
  if (!command->token_file.empty()) {
    auto text = read_file(command->token_file, "token");
    if (!text) return complain("top: " + text.error().context);
    command->access.token = trimmed(std::string_view(*text).substr(0, text->find('\n')));
  }
  std::vector<top::Daemon> daemons;
  for (const auto& endpoint : command->endpoints) daemons.push_back({.endpoint = endpoint});
  const bool screen = !command->once && ::isatty(STDOUT_FILENO) == 1;
  Time last = monotonic_now();
  look(daemons, command->access, 0);
  if (screen) fmt::print("\x1b[2J");
  for (;;) {
    if (!command->once) {
      // From the top left corner; what was below is cleared.
      fmt::print("{}{}{}", screen ? "\x1b[H\x1b[J" : "", top::view(daemons), screen ? "" : "\n");
      if (std::fflush(stdout) != 0) return 1;  // The reader of our pipe has gone.
    }
    std::this_thread::sleep_for(Seconds(command->interval));
    const Time now = monotonic_now();
    look(daemons, command->access, std::chrono::duration<double>(now - last).count());
    last = now;
    if (!command->once) continue;
    fmt::print("{}", top::view(daemons));
    for (const auto& daemon : daemons)
      if (!daemon.why.empty()) return 1;
    return 0;
  }
}

}  // namespace sumac::tools
