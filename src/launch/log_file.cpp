#include "launch/log_file.hpp"

#include <fmt/core.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace sumac::launch {

std::vector<std::string> last_lines(const std::string& log, std::size_t count) {
  std::ifstream file(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.erase(lines.begin());
  }
  return lines;
}

std::string last_words(const std::string& log) {
  const auto lines = last_lines(log, 1);
  return lines.empty() ? "it said nothing" : "its last words: " + lines.front();
}

std::string whole_log(const std::string& log) {
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  return text.str();
}

std::string describe_exit(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("signal {} ({})", WTERMSIG(wait_status), ::strsignal(WTERMSIG(wait_status)));
  return fmt::format("status {}", WEXITSTATUS(wait_status));
}

}  // namespace sumac::launch
