#pragma once
// The manager of one `sumac run` over several hosts, or of one job of Python's: its fabric file, its certificate, and
// its daemon.
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/daemon.hpp"
#include "net/address.hpp"
#include "tools/run/pki.hpp"

namespace sumac::tools {

/// The name of the node on a host.
std::string node_on(const std::string& host);

struct ManagerOfRun {
  std::vector<std::string> hosts;
  std::size_t nodes = 1;         ///< The first so many hosts have a node.
  net::SocketAddress address{};  ///< The hosts reach it there.
  std::string directory;
  bool allow_insecure = false;
};

struct StartedManager {
  launch::Daemon daemon;
  std::string endpoint;                   ///< "ADDRESS:PORT"
  std::optional<RunAuthority> authority;  ///< Nothing if clear text was asked for.
};

/// Errc::interrupted: `interrupt_fd` became readable.
Result<StartedManager> start_manager(const ManagerOfRun& wanted, int interrupt_fd);

/// The holders of a host's certificates.
std::vector<control::Identity> holders_on(const std::string& host, bool has_node);

}  // namespace sumac::tools
