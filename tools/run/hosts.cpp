#include "tools/run/hosts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/clock.hpp"
#include "control/signals.hpp"
#include "launch/log_file.hpp"
#include "tools/commands.hpp"
#include "tools/run/children.hpp"

namespace sumac::tools {
namespace {

constexpr Duration kUpWithin = Seconds(60);
constexpr Duration kEndWithin = Seconds(15);
/// The time from the end of a launcher's output to its own end.
constexpr Duration kExitWithin = Seconds(3);

/// Waits for a launcher; returns false if it had not ended in time and was killed, with all it started in its process
/// group.
bool ends_by(pid_t launcher, Time deadline, int& status) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, launcher, 0)));
  pollfd wait{process.get(), POLLIN, 0};
  bool ends = false;
  while (process && !ends) {
    const int got = ::poll(&wait, 1, control::poll_timeout(monotonic_now(), deadline));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    ends = got > 0;
  }
  if (!ends) ::kill(-launcher, SIGKILL);
  ::waitpid(launcher, &status, 0);
  return ends;
}

}  // namespace

std::vector<std::string> launch_command(const std::string& launcher, const std::string& host,
                                        const std::vector<std::string>& what) {
  std::vector<std::string> command;
  std::istringstream words(launcher);
  bool named = false;
  for (std::string word; words >> word; command.push_back(word))
    for (auto at = word.find("{host}"); at != std::string::npos; at = word.find("{host}")) {
      word.replace(at, std::strlen("{host}"), host);
      named = true;
    }
  if (!named) command.push_back(host);
  command.insert(command.end(), what.begin(), what.end());
  return command;
}

Result<RunHosts::Host> RunHosts::launch(const HostStart& start, const std::string& launcher,
                                        const std::string& directory) const {
  const auto command = launch_command(launcher, start.host, {bin_directory() + "/sumac", "run-host"});
  if (auto there = check_program(command[0]); !there) return tl::unexpected(there.error());
  Host host;
  host.name = start.host;
  host.log = fmt::format("{}/host-{}.log", directory, start.host);
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  const UniqueFd their_in(to[0]);
  host.in = UniqueFd(to[1]);
  if (::pipe2(from.data(), O_CLOEXEC) < 0) return fail_errno("pipe");
  host.out = UniqueFd(from[0]);
  const UniqueFd their_out(from[1]);
  const UniqueFd log(::open(host.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return fail_errno(host.log);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  host.pid = ::fork();
  if (host.pid < 0) return fail_errno("fork");
  if (host.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // The lifeline ends too; this is for a launcher that does not pass its end on.
    if (::getppid() != parent) ::_exit(1);
    ::setpgid(0, 0);  // Ctrl-C at the terminal ends the program; the hosts end after it.
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int in = ::fcntl(their_in.get(), F_DUPFD, 10), out = ::fcntl(their_out.get(), F_DUPFD, 10),
              err = ::fcntl(log.get(), F_DUPFD, 10);
    if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
    ::close_range(3, ~0u, 0);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  std::string text;
  for (const auto& [key, value] : start.settings) {
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);) text += fmt::format("{} {}\n", key, line);
  }
  text += "go\n";
  // The text fits into a pipe, so the write does not block; if the launcher is gone already, reading will notice it.
  const auto ignore = ::signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const auto written = ::write(host.in.get(), text.data(), text.size());
  ::signal(SIGPIPE, ignore);
  return host;
}

bool RunHosts::read_lines(Host& host, std::vector<std::string>& lines) {
  char part[4096];
  const auto got = ::read(host.out.get(), part, sizeof part);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) host.said.append(part, static_cast<std::size_t>(got));
  for (auto newline = host.said.find('\n'); newline != std::string::npos; newline = host.said.find('\n')) {
    lines.push_back(host.said.substr(0, newline));
    host.said.erase(0, newline + 1);
  }
  return got > 0;
}

std::string RunHosts::how_it_ended(Host& host) {
  host.in = UniqueFd();
  host.out = UniqueFd();
  int status = 0;
  const bool ended = ends_by(host.pid, deadline_after(monotonic_now(), kExitWithin), status);
  host.pid = -1;
  std::ifstream file(host.log);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  const auto how = ended ? "ended with " + launch::describe_exit(status)
                         : std::string("closed its output, went on without it and was killed");
  return how + (last.empty() ? "" : ": " + last);
}

Result<> RunHosts::start(const std::vector<HostStart>& hosts, const std::string& launcher, const std::string& directory,
                         int interrupt_fd) {
  launcher_ = launcher;
  for (const auto& each : hosts) {
    auto host = launch(each, launcher, directory);
    if (!host) return within(fmt::format("host {}", each.host), host.error());
    hosts_.push_back(*std::move(host));
  }
  const Time deadline = deadline_after(monotonic_now(), kUpWithin);
  while (!std::ranges::all_of(hosts_, [](const Host& host) { return host.up; })) {
    std::vector<pollfd> wait{{interrupt_fd, POLLIN, 0}};
    for (const auto& host : hosts_) wait.push_back({host.out.get(), POLLIN, 0});
    const int got = ::poll(wait.data(), wait.size(), control::poll_timeout(monotonic_now(), deadline));
    if (got < 0 && errno != EINTR) return fail_errno("poll");
    if (wait[0].revents != 0) return fail(Errc::interrupted, "interrupted while the hosts started");
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      auto& host = hosts_[i];
      if (wait[i + 1].revents == 0) continue;
      std::vector<std::string> lines;
      const bool lives = read_lines(host, lines);
      for (const auto& line : lines) {
        if (line == "up") host.up = true;
        // All other output comes from a login shell and is ignored.
        if (line.starts_with("failed ")) return fail(Errc::lost, "host {}: {}", host.name, line.substr(7));
      }
      if (!lives) return fail(Errc::lost, "host {}: '{}' {}", host.name, launcher, how_it_ended(host));
    }
    if (got == 0) {
      const auto late = std::ranges::find_if(hosts_, [](const Host& host) { return !host.up; });
      return fail(Errc::timeout, "host {} is not up after {} s: does '{}' reach it without a question?", late->name,
                  std::chrono::duration_cast<Seconds>(kUpWithin).count(), launcher);
    }
  }
  return {};
}

std::vector<int> RunHosts::descriptors() const {
  std::vector<int> result;
  for (const auto& host : hosts_)
    if (host.out) result.push_back(host.out.get());
  return result;
}

std::vector<std::string> RunHosts::take_news() {
  std::vector<std::string> news;
  for (auto& host : hosts_) {
    pollfd wait{host.out.get(), POLLIN, 0};
    if (!host.out || ::poll(&wait, 1, 0) <= 0) continue;
    std::vector<std::string> lines;
    const bool lives = read_lines(host, lines);
    for (const auto& line : lines)
      if (line.starts_with("died ")) news.push_back(fmt::format("host {}: {}", host.name, line.substr(5)));
    if (!lives) news.push_back(fmt::format("host {} is lost: '{}' {}", host.name, launcher_, how_it_ended(host)));
  }
  return news;
}

void RunHosts::end() {
  for (auto& host : hosts_) host.in = UniqueFd();
  const Time deadline = deadline_after(monotonic_now(), kEndWithin);
  for (auto& host : hosts_) {
    if (host.pid <= 0) continue;
    int status = 0;
    if (!ends_by(host.pid, deadline, status))
      fmt::print(stderr, "sumac run: host {} does not confirm its end: look there for sharpd and sharp_an\n",
                 host.name);
    host.pid = -1;
  }
  hosts_.clear();
}

}  // namespace sumac::tools
