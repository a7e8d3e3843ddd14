#pragma once
// The daemons of a `sumac run` over several hosts: one `sumac run-host` on each, started by ssh or a substitute for it,
// with its standard input as its lifeline.
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/run/remote.hpp"

namespace sumac::tools {

struct HostStart {
  std::string host;
  /// In the form that tools/run/host.cpp reads: a value of several lines is sent line by line.
  std::map<std::string, std::string> settings;
};

class RunHosts {
 public:
  RunHosts() = default;
  RunHosts(const RunHosts&) = delete;
  RunHosts& operator=(const RunHosts&) = delete;
  ~RunHosts() { end(); }

  /// Starts all at once; returns when every host is up. The first failure names its host; Errc::interrupted: a signal
  /// came.
  Result<> start(const std::vector<HostStart>& hosts, const std::string& launcher, const std::string& directory,
                 int interrupt_fd);
  /// Descriptors to poll for reading while the program runs; then take_news() reports, by name, hosts and daemons that
  /// ended.
  std::vector<int> descriptors() const;
  std::vector<std::string> take_news();
  /// Closes the lifelines and waits until the hosts have confirmed; names on stderr the hosts that do not.
  void end();

 private:
  struct Host {
    std::string name, log, said;
    Remote remote;
    bool up = false;
  };
  Result<Host> launch(const HostStart& start, const std::string& launcher, const std::string& directory) const;
  /// Reads the available lines, without their newlines. Returns false if the host has ended.
  static bool read_lines(Host& host, std::vector<std::string>& lines);
  static std::string how_it_ended(Host& host);
  std::string launcher_;
  std::vector<Host> hosts_;
};

}  // namespace sumac::tools
