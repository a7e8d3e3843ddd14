#include "client/world/test_daemons.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "launch/log_file.hpp"

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

}  // namespace

Daemons::Daemons(const Shape& shape) {
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
  for (auto daemon = daemons_.rbegin(); daemon != daemons_.rend(); ++daemon) daemon->signal(SIGTERM);
  for (auto& daemon : daemons_) daemon.wait();
}

void Daemons::start(const std::string& name, std::vector<std::string> command, const Environment& environment) {
  words_[name] = {command, environment};
  command[0].insert(0, SUMAC_BINARY_DIR "/bin/");
  auto started = launch::Daemon::start(
      {.name = name, .command = std::move(command), .log = log_of(name), .environment = environment});
  if (!started) throw std::runtime_error(started.error().context + "\n" + log() + launch::whole_log(log_of(name)));
  daemons_.push_back(*std::move(started));
}

void Daemons::start_again(const std::string& name) {
  const auto [command, environment] = words_.at(name);
  start(name, command, environment);
}

pid_t Daemons::pid(const std::string& name) const {
  for (const auto& daemon : daemons_)
    if (daemon.name() == name && daemon.pid() > 0) return daemon.pid();
  return 0;
}

void Daemons::signal(const std::string& name, int number) {
  for (auto& daemon : daemons_) {
    if (daemon.name() != name || daemon.pid() <= 0) continue;
    daemon.signal(number);
    if (number != SIGSTOP && number != SIGCONT) daemon.wait();
  }
}

bool Daemons::says(const std::string& words) const {
  for (int looks = 0; log().find(words) == std::string::npos; ++looks) {
    if (looks == 4'000) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

std::string Daemons::log_of(const std::string& name) const { return dir_ + "/" + name + ".log"; }

std::string Daemons::log() const {
  std::string text;
  for (const auto& daemon : daemons_)
    if (const auto said = launch::whole_log(log_of(daemon.name())); !said.empty()) text += daemon.name() + ":\n" + said;
  return text;
}

}  // namespace sumac::client::test
