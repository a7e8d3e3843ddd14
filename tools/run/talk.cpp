#include "tools/run/talk.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

namespace sumac::tools {
namespace {

constexpr std::size_t kLineMax = 65536;

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<> take(Settings& settings, const std::string& line) {
  const auto space = line.find(' ');
  if (space == std::string::npos) return fail(Errc::invalid, "'{}' is not understood: install one version", line);
  auto& value = settings[line.substr(0, space)];
  value += (value.empty() ? "" : "\n") + line.substr(space + 1);
  return {};
}

}  // namespace

std::string get(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? std::string() : found->second;
}

Result<Settings> Talk::read(int interrupt_fd) {
  Settings settings;
  for (;;) {
    for (auto newline = text_.find('\n'); newline != std::string::npos; newline = text_.find('\n')) {
      const auto line = text_.substr(0, newline);
      text_.erase(0, newline + 1);
      if (line == "go") return settings;
      if (auto taken = take(settings, line); !taken) return tl::unexpected(taken.error());
    }
    if (text_.size() > kLineMax)
      return fail(Errc::invalid,
                  "standard input has a line of more than 64 KiB: install one version of Sumac on all hosts");
    pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0 && errno != EINTR) return fail_errno("poll");
    if (wait[1].revents != 0) return fail(Errc::interrupted, "interrupted");
    char part[4096];
    const auto got = ::read(STDIN_FILENO, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(Errc::interrupted,
                  "standard input ended before its `go` line: Sumac's own programs start this command");
    text_.append(part, static_cast<std::size_t>(got));
  }
}

bool say(const std::string& line) { return write_all(line + "\n"); }

bool say(const std::string& key, const std::string& value) { return write_all(lines_of(key, value)); }

std::string lines_of(const std::string& key, const std::string& value) {
  std::istringstream lines(value);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += fmt::format("{} {}\n", key, line);
  return text;
}

Result<Settings> settings_in(const std::string& text) {
  Settings settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (auto taken = take(settings, line); !taken) return tl::unexpected(taken.error());
  return settings;
}

TlsTexts files_under(const Settings& settings, std::string_view prefix) {
  TlsTexts texts;
  for (const auto& [key, value] : settings)
    if (key.starts_with(prefix) && key.find('/', prefix.size()) == std::string::npos)
      texts[key.substr(prefix.size())] = value + "\n";
  return texts;
}

}  // namespace sumac::tools
