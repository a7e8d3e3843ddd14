#pragma once
// On SIGHUP a running daemon reads its configuration again. Options that the option table marks as updatable take
// effect. Every other changed option keeps its old value, and one log line says so, so that no one believes in a
// setting that is not in force. The log file is opened again.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/log_file.hpp"
#include "base/options.hpp"
#include "base/our_variables.hpp"
#include "base/result.hpp"

namespace sumac::control {

namespace detail {
Result<> check_keys(const KeyValues& file, const std::string& path, std::span<const std::string> names);
}

template <class Config>
struct Reloaded {
  Config config{};                       ///< The running configuration with the options that could change.
  std::vector<std::string> taken, kept;  ///< One line for each option whose value has changed.

  /// Call it after the daemon has put `config` into force.
  void tell(Logger& log) const {
    log.set_level(log_level_from(config.log_level));
    for (const auto& line : taken) SUMAC_INFO(log, "SIGHUP: {}", line);
    for (const auto& line : kept) SUMAC_WARN(log, "SIGHUP: {}", line);
    if (taken.empty() && kept.empty()) SUMAC_INFO(log, "SIGHUP: no option has changed");
  }
};

template <class Config>
class Reloader {
 public:
  /// `command_line` and the environment take precedence over `file`, as at the start. An empty `file` means that there
  /// is none.
  Reloader(std::span<const Option<Config>> table, Source command_line, std::string file)
      : table_(table), command_line_(std::move(command_line)), file_(std::move(file)) {}

  /// Sets the daemon's log sink, once it exists.
  void writes_to(LogSink sink) { sink_ = std::move(sink); }
  /// Call it first on SIGHUP, so that the lines about the reload go into the new file.
  void reopen_log(Logger& log) const {
    if (auto done = reopen(sink_); !done)
      SUMAC_ERROR(log, "SIGHUP: {}: lines go on to the file that was open", done.error().context);
  }

  /// Returns the sources in force, after reading the file again.
  Result<std::vector<Source>> sources() const {
    std::vector<Source> all{command_line_, environment()};
    if (file_.empty()) return all;
    auto file = KeyValues::read_file(file_);
    if (!file) return tl::unexpected(file.error());
    std::vector<std::string> names;
    append_names<Config>(table_, names);
    if (auto known = detail::check_keys(*file, file_, names); !known) return tl::unexpected(known.error());
    all.push_back(file->source());
    return all;
  }

  /// Reads the configuration again. After an error, no option may be changed.
  Result<Reloaded<Config>> read(const Config& running) const {
    auto all = sources();
    if (!all) return tl::unexpected(all.error());
    auto wanted = load_from<Config>(table_, *all);
    if (!wanted) return tl::unexpected(wanted.error());
    Reloaded<Config> result{running, {}, {}};
    for (const auto& option : table_) {
      const auto was = option.print(running, option.prints_bare()), is = option.print(*wanted, option.prints_bare());
      if (was == is) continue;
      const auto name = option.aliases[0].empty() ? option.name : option.aliases[0];
      if (!option.is_updatable) {
        result.kept.push_back(
            fmt::format("{} can't change while this runs: it stays '{}'; restart for '{}'", name, was, is));
        continue;
      }
      if (auto parsed = option.parse(result.config, is, option.limits); !parsed) return within(name, parsed.error());
      result.taken.push_back(fmt::format("{} is '{}' now, it was '{}'", name, is, was));
    }
    return result;
  }

 private:
  std::span<const Option<Config>> table_;
  Source command_line_;
  std::string file_;
  LogSink sink_;
};

}  // namespace sumac::control
