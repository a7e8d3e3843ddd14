#include "client/world/test_daemons.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace sumac::client::test {
namespace {

/// Describes a root and leaves, or (for one leaf) a single node.
std::string fabric_text(const Shape& shape, std::vector<std::string>& hosts, std::vector<std::string>& nodes) {
  std::string text = "name: client-test\n";
  if (!shape.links.empty()) text += fmt::format("defaults: {{{}}}\n", shape.links);
  text += "switches: [root";
  const bool deep = shape.leaves.size() > 1;
  for (const auto& leaf : shape.leaves) text += ", " + leaf;
  text += "]\nlinks:\n";
  for (const auto& leaf : shape.leaves) text += fmt::format("  - {{a: {}, b: root}}\n", leaf);
  text += "hosts:\n";
  for (const auto& leaf : shape.leaves)
    for (unsigned i = 0; i < shape.hosts_per_leaf; ++i) {
      hosts.push_back(fmt::format("h{}", hosts.size() + 1));
      text += fmt::format("  {}: {{leaf: {}}}\n", hosts.back(), leaf);
    }
  for (unsigned i = 1; i <= shape.spares; ++i) text += fmt::format("  s{}: {{leaf: {}}}\n", i, shape.leaves.front());
  text += "nodes:\n";
  if (shape.spares > 0) {
    std::string roots;
    for (unsigned i = 1; i <= shape.spares; ++i) {
      nodes.push_back(fmt::format("an-s{}", i));
      text += fmt::format("  an-s{0}: {{host: s{0}, link_rate: {1}}}\n", i,
                          shape.link_rate.empty() ? "10Gbit/s" : shape.link_rate);
      roots += (i == 1 ? "" : ", ") + nodes.back();
    }
    return text + fmt::format("root: [{}]\ntrees: {}\nmanager: {{switch: root}}\n", roots, shape.spares);
  }
  if (deep) nodes.push_back("an-root");
  for (const auto& leaf : shape.leaves) nodes.push_back("an-" + leaf);
  const auto rate = shape.link_rate.empty() ? "" : ", link_rate: " + shape.link_rate;
  for (const auto& node : nodes) text += fmt::format("  {}: {{switch: {}{}}}\n", node, node.substr(3), rate);
  text += fmt::format("root: {}\nmanager: {{switch: root}}\n", nodes.front());
  return text;
}

/// A program's log must not make the test wait, so it goes to a file.
int log_file(const std::string& path) { return ::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600); }

}  // namespace

Daemons::Daemons(const Shape& shape) {
  char dir[] = "/tmp/sumac-client-XXXXXX";
  if (::mkdtemp(dir) == nullptr) throw std::runtime_error("mkdtemp");
  dir_ = dir;
  std::vector<std::string> nodes;
  std::ofstream(dir_ + "/fabric.yaml") << fabric_text(shape, hosts_, nodes);
  if (!shape.stranger.empty()) hosts_.push_back(shape.stranger);
  const std::string manager = "unix:" + dir_ + "/am.sock";
  const auto start = [&](const std::string& name, std::vector<std::string> command) {
    this->start(name, std::move(command), shape.environment);
  };
  if (shape.manager)
    start("sharp_am",
          {"sharp_am", "--fabric", dir_ + "/fabric.yaml", "--listen", manager, "--user-share-max-percent", "100"});
  if (shape.nodes)
    for (const auto& node : nodes)
      start(node, {"sharp_an", "--name", node, "--manager", manager, "--listen", "127.0.0.1:0"});
  for (std::size_t h = 0; h < hosts_.size(); ++h)
    if (std::ranges::count(shape.without_sharpd, hosts_[h]) == 0)
      start("sharpd-" + hosts_[h], {"sharpd", "--host", hosts_[h], "--manager", manager, "--socket", socket_of(h)});
}

Daemons::~Daemons() {
  for (auto process = processes_.rbegin(); process != processes_.rend(); ++process)
    if (process->pid > 0) ::kill(process->pid, SIGTERM);
  for (auto& process : processes_)
    if (process.pid > 0) ::waitpid(process.pid, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

void Daemons::start(const std::string& name, std::vector<std::string> command, const Environment& environment) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const std::string program = std::string(SUMAC_BINARY_DIR "/bin/") + command[0];
  command.insert(command.end(), {"--ready-fd", "3"});
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int log = log_file(dir_ + "/" + name + ".log");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log, STDERR_FILENO);
    for (const auto& [variable, value] : environment) ::setenv(variable.c_str(), value.c_str(), 1);
    if (ready[1] == 3)
      ::fcntl(3, F_SETFD, 0);
    else
      ::dup2(ready[1], 3);
    ::execv(program.c_str(), arguments.data());
    ::dprintf(STDERR_FILENO, "%s: %s\n", program.c_str(), std::strerror(errno));
    ::_exit(127);
  }
  ::close(ready[1]);
  ::close(log);
  processes_.push_back({name, pid});
  pollfd waiting{ready[0], POLLIN, 0};
  char word[16];
  const bool is_up = ::poll(&waiting, 1, 30'000) == 1 && ::read(ready[0], word, sizeof word) > 0;
  ::close(ready[0]);
  if (!is_up) throw std::runtime_error(name + " does not come up: " + this->log());
}

pid_t Daemons::pid(const std::string& name) const {
  const auto found = std::ranges::find(processes_, name, &Process::name);
  return found == processes_.end() ? 0 : found->pid;
}

void Daemons::signal(const std::string& name, int number) {
  for (auto& process : processes_) {
    if (process.name != name || process.pid <= 0) continue;
    ::kill(process.pid, number);
    if (number == SIGSTOP || number == SIGCONT) return;
    ::waitpid(process.pid, nullptr, 0);
    process.pid = 0;
  }
}

bool Daemons::says(const std::string& words) const {
  for (int looks = 0; log().find(words) == std::string::npos; ++looks) {
    if (looks == 4'000) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

std::string Daemons::log() const {
  std::string text;
  for (const auto& process : processes_) {
    std::stringstream said;
    said << std::ifstream(dir_ + "/" + process.name + ".log").rdbuf();
    if (!said.str().empty()) text += process.name + ":\n" + said.str();
  }
  return text;
}

}  // namespace sumac::client::test
