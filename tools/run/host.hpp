#pragma once
// The daemons of one host of a run: sharpd, and a node on some hosts.
#include <string>
#include <vector>

#include "launch/daemon.hpp"
#include "tools/run/pki.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {

struct HostKeys {
  Settings settings;  ///< "tls/FILE": the keys, which stay on the host.
  TlsTexts requests;  ///< FILE: what the host asks certificates for.
};
Result<HostKeys> make_keys(const std::string& host, bool has_node);

/// Starts what `settings` ask for, in the form that `sumac run-host` reads; sharpd is the last one.
Result<std::vector<launch::Daemon>> start_host_daemons(const Settings& settings, const std::string& directory,
                                                       int interrupt_fd);

}  // namespace sumac::tools
