#pragma once
// Real daemons for one test on loopback: sharp_am with a fabric file, one sharp_an for each of its nodes, one sharpd
// for each of its hosts, all with sockets in a directory of their own. They die with the test, even if it is killed.
#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/test_folder.hpp"
#include "launch/daemon.hpp"

namespace sumac::client::test {

/// Variables that are set for a process.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Shape {
  std::vector<std::string> leaves = {"leaf1"};  ///< Besides the root if there is more than one.
  unsigned hosts_per_leaf = 1;
  std::string link_rate;  ///< The rate of each node's link, such as "60Mbit/s"; empty: no limit is known.
  /// The fabric file's entry for each link, such as "rate: 60Mbit/s, delay: 50us". It is declared, not emulated.
  std::string links{};
  /// Instead of nodes at the switches: the number of nodes on hosts of their own, an-s1, an-s2, each the root of a
  /// tree.
  unsigned spares = 0;
  bool manager = true, nodes = true;
  std::vector<std::string> without_sharpd;  ///< Hosts that have none.
  std::string stranger{};     ///< One more host, the last, which has a sharpd but is not in the fabric file.
  Environment environment{};  ///< The environment of all daemons.
};

class Daemons {
 public:
  explicit Daemons(const Shape& shape);
  ~Daemons();
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  pid_t pid(const std::string& name) const;  ///< For a rank that kills it; 0: there is none.
  std::size_t hosts() const { return hosts_.size(); }
  std::string socket_of(std::size_t host) const { return dir_ + "/" + hosts_[host] + ".sock"; }
  /// Sends a signal to "sharp_am", "an-leaf1", "sharpd-h1", and waits for the daemon's end if the signal is deadly.
  void signal(const std::string& name, int number);
  /// Starts a daemon that has ended, with the same words.
  void start_again(const std::string& name);
  const std::string& dir() const { return dir_; }
  std::string log() const;  ///< The output of all daemons, for a test that failed.
  /// Waits until one of them has logged it; returns false after a time that only a failure reaches.
  bool says(const std::string& words) const;

 private:
  void start(const std::string& name, std::vector<std::string> command, const Environment& environment);
  std::string log_of(const std::string& name) const;
  const TestFolder folder_{"client"};
  const std::string dir_ = folder_.path;
  std::vector<std::string> hosts_;
  std::map<std::string, std::pair<std::vector<std::string>, Environment>> words_;  ///< With which it was started.
  std::vector<launch::Daemon> daemons_;  ///< In the order of starting; one that was ended stays.
};

}  // namespace sumac::client::test
