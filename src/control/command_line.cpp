#include "control/command_line.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/fd.hpp"
#include "base/our_variables.hpp"
#include "base/tell.hpp"
#include "base/write_all.hpp"

namespace sumac::control {
namespace {

constexpr std::string_view kOwnWords[] = {"help", "version", "show_config", "ready_fd"};

Result<int> parse_descriptor(std::string_view text) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc{} || end != text.data() + text.size() || fd < 0)
    return fail(Errc::invalid, "--ready-fd {}: not a descriptor's number", text);
  if (::fcntl(fd, F_GETFD) < 0) return fail(Errc::invalid, "--ready-fd {}: no such descriptor is open", fd);
  return fd;
}

}  // namespace

std::string_view version_text() noexcept { return SUMAC_VERSION; }

Source CommandLine::source() const {
  return Source{"command line", [pairs = values](std::string_view name) -> std::optional<std::string> {
                  // If a key is given several times, the last value counts.
                  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair)
                    if (pair->first == name) return pair->second;
                  return std::nullopt;
                }};
}

Result<CommandLine> parse_command_line(std::span<const char* const> arguments, const DaemonText& text,
                                       std::span<const std::string> keys) {
  CommandLine line;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "-h" || word == "--help") {
      line.help = true;
      continue;
    }
    if (word == "-v" || word == "--version") {
      line.version = true;
      continue;
    }
    std::optional<std::string> value;
    std::string key;
    if (word == "-O" || word == "-c") {
      key = word;
    } else if (word.starts_with("--") && word.size() > 2) {
      key = word.substr(2, word.find('=') == std::string_view::npos ? word.npos : word.find('=') - 2);
      std::replace(key.begin(), key.end(), '-', '_');
      if (const auto equals = word.find('='); equals != word.npos) value = word.substr(equals + 1);
    } else {
      return fail(Errc::invalid, "unexpected argument {}: options are --KEY VALUE", word);
    }
    if (key == "show_config") {
      line.show_config = true;
      continue;
    }
    const bool known = std::find(keys.begin(), keys.end(), key) != keys.end();
    if (!known && key != "-O" && key != "-c" && key != "ready_fd") {
      std::vector<std::string> all(keys.begin(), keys.end());
      all.insert(all.end(), std::begin(kOwnWords), std::end(kOwnWords));
      const auto unknown = unknown_names(std::vector<std::string>{key}, all);
      const auto dashed = [](std::string name) {
        std::replace(name.begin(), name.end(), '_', '-');
        return name;
      };
      if (!unknown.empty() && !unknown[0].nearest.empty())
        return fail(Errc::invalid, "unknown option {}: did you mean --{}?", word, dashed(unknown[0].nearest));
      return fail(Errc::invalid, "unknown option {}: see --help", word);
    }
    const bool is_switch = std::find(text.switches.begin(), text.switches.end(), key) != text.switches.end();
    if (!value && is_switch) {
      value = "1";
    } else if (!value) {
      if (i + 1 >= arguments.size()) return fail(Errc::invalid, "{} needs a value", word);
      value = arguments[++i];
    }
    if (key == "-O") {
      line.config_file = *value;
    } else if (key == "-c") {
      line.write_config = *value;
    } else if (key == "ready_fd") {
      auto fd = parse_descriptor(*value);
      if (!fd) return tl::unexpected(fd.error());
      line.ready_fd = *fd;
    } else {
      line.values.emplace_back(std::move(key), *std::move(value));
    }
  }
  return line;
}

Result<> announce_ready(int ready_fd) {
  if (ready_fd < 0) return {};
  if (auto written = write_all(ready_fd, "ready\n"); !written)
    return within(fmt::format("--ready-fd {}", ready_fd), written.error());
  if (ready_fd > STDERR_FILENO) ::close(ready_fd);  // Closing matters too: the reader of a pipe waits for its end.
  return {};
}

namespace detail {

Result<> write_file(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return fail_errno(path);
  if (auto written = write_all(fd.get(), text); !written) return within(path, written.error());
  return {};
}

void print(std::string_view text) {
  if (auto written = write_all(STDOUT_FILENO, text); !written) {
    // There is no one to report this to: our stdout has been closed by its reader.
  }
}

int usage_error(const DaemonText& text, const Error& error) {
  tell("{}: {}", text.program, error.context);
  return kExitUsage;
}

int complain(const DaemonText& text, const Error& error) {
  tell("{}: {}", text.program, error.context);
  return kExitError;
}

Result<LogSink> log_sink(const std::string& file) {
  if (file.empty()) return descriptor_sink(STDERR_FILENO);
  return file_sink(file);
}

void warn_unknown_variables(const DaemonText& text, std::span<const std::string> names) {
  const std::string_view prefixes[] = {text.variable_prefix};
  for (const auto& unknown : unknown_variables(names, prefixes))
    tell("{}: warning: {}", text.program, to_string(unknown));
}

std::string help_head(const DaemonText& text) {
  return fmt::format(
      "{0}: {1}\n\nusage: {0} [--KEY VALUE ...]\n"
      "  -O FILE                  read a configuration file of `key value` lines\n"
      "  -c FILE                  write one with all defaults, and stop\n"
      "  --ready-fd N             write \"ready\" to this descriptor when it can be used\n"
      "  --show-config            print what would be used, and stop\n"
      "  --version, --help\n"
      "Each key is also an environment variable [default]:\n",
      text.program, text.summary);
}

Result<> check_keys(const KeyValues& file, const std::string& path, std::span<const std::string> names) {
  const auto unknown = unknown_names(file.keys(), names);
  if (unknown.empty()) return {};
  int line = 0;
  for (const auto& pair : file.pairs())
    if (pair.key == unknown[0].name) line = pair.line;
  if (unknown[0].nearest.empty())
    return fail(Errc::invalid, "{}:{}: unknown key {}: -c FILE writes a file with every key", path, line,
                unknown[0].name);
  return fail(Errc::invalid, "{}:{}: unknown key {}: did you mean {}?", path, line, unknown[0].name,
              unknown[0].nearest);
}

}  // namespace detail
}  // namespace sumac::control
