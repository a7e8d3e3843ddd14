#include "tools/run/hosts.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/clock.hpp"
#include "base/tell.hpp"
#include "control/signals.hpp"
#include "launch/log_file.hpp"
#include "tools/commands.hpp"

namespace sumac::tools {
namespace {

constexpr Duration kUpWithin = Seconds(60);
constexpr Duration kEndWithin = Seconds(15);
/// The time from the end of a launcher's output to its own end.
constexpr Duration kExitWithin = Seconds(3);

}  // namespace

Result<RunHosts::Host> RunHosts::launch(const HostStart& start, const std::string& launcher,
                                        const std::string& directory) const {
  const auto command = launch_command(launcher, start.host, {bin_directory() + "/sumac", "run-host"});
  Host host;
  host.name = start.host;
  host.log = fmt::format("{}/host-{}.log", directory, start.host);
  const UniqueFd log(::open(host.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return fail_errno(host.log);
  auto remote = start_remote(command, log.get());
  if (!remote) return tl::unexpected(remote.error());
  host.remote = *std::move(remote);
  std::string text;
  for (const auto& [key, value] : start.settings) {
    std::istringstream lines(value);
    for (std::string line; std::getline(lines, line);) text += fmt::format("{} {}\n", key, line);
  }
  send_to(host.remote, text + "go\n");
  return host;
}

bool RunHosts::read_lines(Host& host, std::vector<std::string>& lines) {
  char part[4096];
  const auto got = ::read(host.remote.out.get(), part, sizeof part);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) host.said.append(part, static_cast<std::size_t>(got));
  for (auto newline = host.said.find('\n'); newline != std::string::npos; newline = host.said.find('\n')) {
    lines.push_back(host.said.substr(0, newline));
    host.said.erase(0, newline + 1);
  }
  return got > 0;
}

std::string RunHosts::how_it_ended(Host& host) {
  host.remote.in = UniqueFd();
  host.remote.out = UniqueFd();
  int status = 0;
  const bool ended = remote_ends_by(host.remote.pid, deadline_after(monotonic_now(), kExitWithin), status);
  host.remote.pid = -1;
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
    for (const auto& host : hosts_) wait.push_back({host.remote.out.get(), POLLIN, 0});
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
    if (host.remote.out) result.push_back(host.remote.out.get());
  return result;
}

std::vector<std::string> RunHosts::take_news() {
  std::vector<std::string> news;
  for (auto& host : hosts_) {
    pollfd wait{host.remote.out.get(), POLLIN, 0};
    if (!host.remote.out || ::poll(&wait, 1, 0) <= 0) continue;
    std::vector<std::string> lines;
    const bool lives = read_lines(host, lines);
    for (const auto& line : lines)
      if (line.starts_with("died ")) news.push_back(fmt::format("host {}: {}", host.name, line.substr(5)));
    if (!lives) news.push_back(fmt::format("host {} is lost: '{}' {}", host.name, launcher_, how_it_ended(host)));
  }
  return news;
}

void RunHosts::end() {
  for (auto& host : hosts_) host.remote.in = UniqueFd();
  const Time deadline = deadline_after(monotonic_now(), kEndWithin);
  for (auto& host : hosts_) {
    if (host.remote.pid <= 0) continue;
    int status = 0;
    if (!remote_ends_by(host.remote.pid, deadline, status))
      tell("sumac run: host {} does not confirm its end: look there for sharpd and sharp_an", host.name);
    host.remote.pid = -1;
  }
  hosts_.clear();
}

}  // namespace sumac::tools
