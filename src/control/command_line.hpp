#pragma once
// The command line that all daemons share: `--KEY VALUE` for every key of the daemon's option table, and
//   -O FILE  read a configuration file        -c FILE  write one with all defaults and stop
//   --show-config   --help   --version (-v)   --ready-fd N  write "ready" to descriptor N when the daemon can be used
// The command line wins over the environment, and the environment over the file.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/options.hpp"
#include "base/result.hpp"
#include "control/lock_checks.hpp"
#include "control/reload.hpp"

namespace sumac::control {

/// Raised when a message of control.proto changes its meaning. Daemons of different versions refuse each other.
inline constexpr std::uint32_t kControlVersion = 1;

inline constexpr int kExitError = 1, kExitUsage = 2;

struct DaemonText {
  std::string_view program;  ///< "sharp_an"
  std::string_view summary;  ///< One line for --help.
  /// "SUMAC_NODE_": a variable with this prefix that no option table knows gets a warning.
  std::string_view variable_prefix;
  std::vector<std::string_view> switches{};  ///< Keys that need no value, such as `--allow-insecure`.
};

struct CommandLine {
  bool help = false, version = false, show_config = false;
  int ready_fd = -1;
  std::string config_file, write_config;
  /// The key is written as in the aliases of the option table.
  std::vector<std::pair<std::string, std::string>> values;

  Source source() const;
};

/// `keys` holds the lower-case names of the option table. On the command line `-` may stand for `_`.
Result<CommandLine> parse_command_line(std::span<const char* const> arguments, const DaemonText& text,
                                       std::span<const std::string> keys);

/// Writes "ready" once to the descriptor that our parent process passed. A failure is an error, because the parent is
/// waiting for this.
Result<> announce_ready(int ready_fd);

std::string_view version_text() noexcept;

namespace detail {
Result<> write_file(const std::string& path, const std::string& text);
void print(std::string_view text);
int usage_error(const DaemonText& text, const Error& error);
int complain(const DaemonText& text, const Error& error);
Result<LogSink> log_sink(const std::string& file);
void warn_unknown_variables(const DaemonText& text, std::span<const std::string> names);
std::string help_head(const DaemonText& text);
Result<> check_keys(const KeyValues& file, const std::string& path, std::span<const std::string> names);
}  // namespace detail

/// The configuration of a daemon; or `done` and the exit status, if the command line asked for something else or was
/// wrong.
template <class Config>
struct Started {
  Config config{};
  std::optional<Reloader<Config>> reloader;
  int ready_fd = -1;
  bool done = false;
  int status = 0;
};

template <class Config>
Started<Config> start_daemon(std::span<const Option<Config>> table, const DaemonText& text, int argc, char** argv) {
  Started<Config> started;
  const auto stop = [&](int status) {
    started.done = true;
    started.status = status;
    return started;
  };
  std::vector<std::string> names, keys;
  append_names<Config>(table, names);
  for (const auto& name : names)
    if (name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos) keys.push_back(name);

  const std::vector<const char*> arguments(argv + 1, argv + argc);
  auto line = parse_command_line(arguments, text, keys);
  if (!line) return stop(detail::usage_error(text, line.error()));
  if (line->help) {
    std::string help = detail::help_head(text);
    for (const auto& option : table) {
      if (option.is_hidden) continue;
      std::string key;
      for (const auto alias : option.aliases)
        if (!alias.empty() && key.empty()) key = alias;
      for (auto& c : key)
        if (c == '_') c = '-';
      help += fmt::format("  --{:<22} {}\n  {:<24} {} [{}]\n", key, option.doc, "", option.name,
                          option.default_text.empty() ? "none" : option.default_text);
    }
    detail::print(help);
    return stop(0);
  }
  if (line->version) {
    detail::print(fmt::format("{} {}\n", text.program, version_text()));
    return stop(0);
  }
  started.reloader.emplace(table, line->source(), line->config_file);
  auto sources = started.reloader->sources();
  if (!sources) return stop(detail::complain(text, sources.error()));
  detail::warn_unknown_variables(text, names);
  auto config = load_from<Config>(table, *sources);
  if (!config) return stop(detail::complain(text, config.error()));
  if (!line->write_config.empty()) {
    auto defaults = load<Config>(table);
    if (!defaults) return stop(detail::complain(text, defaults.error()));
    // Keys are written as configuration files spell them. An option without a default becomes a comment, because a key
    // without a value is an error.
    std::string lines;
    for (const auto& option : table) {
      if (option.is_hidden) continue;
      const auto key = option.aliases[0].empty() ? option.name : option.aliases[0];
      const auto value = option.print(*defaults, option.prints_bare());
      lines +=
          fmt::format("# {}\n# Legal: {}. Also: {}. {}\n{}{} {}\n\n", option.doc, option.legal(option.limits),
                      option.name, option.is_updatable ? "May change at run time (SIGHUP)." : "Read at start only.",
                      value.empty() ? "#" : "", key, value.empty() ? "..." : value);
    }
    if (auto written = detail::write_file(line->write_config, lines); !written)
      return stop(detail::complain(text, written.error()));
    return stop(0);
  }
  if (line->show_config) {
    detail::print(dump<Config>(table, *config));
    return stop(0);
  }
  started.config = *std::move(config);
  started.ready_fd = line->ready_fd;
  return started;
}

/// Runs a daemon from its command line to its exit status. `serve(config, ready_fd, log, reloader)` is the daemon
/// itself; it returns after it was told to stop, and its error is printed as the last line on stderr. Config must have
/// `log_level` and `log_file` (empty means stderr).
template <class Config, class Serve>
int run_daemon(std::span<const Option<Config>> table, const DaemonText& text, int argc, char** argv, Serve serve) {
  auto started = start_daemon<Config>(table, text, argc, argv);
  if (started.done) return started.status;
  leave_lock_checks_out();
  auto sink = detail::log_sink(started.config.log_file);
  if (!sink) return detail::complain(text, sink.error());
  started.reloader->writes_to(*sink);
  Logger log(Logger::Form::daemon, log_level_from(started.config.log_level), *std::move(sink));
  const Result<> served = serve(started.config, started.ready_fd, log, *started.reloader);
  if (served) return 0;
  // The last line belongs into the log file too, where it is looked for.
  if (!started.config.log_file.empty()) SUMAC_ERROR(log, "{}", served.error().context);
  return detail::complain(text, served.error());
}

}  // namespace sumac::control
