#pragma once
// Collects the facts of this host. Nothing is judged here, and nothing on the machine is changed.
#include "base/clock.hpp"
#include "tools/doctor/facts.hpp"

namespace sumac::tools::doctor {

struct Wanted {
  bool cluster = false;
  std::string
      manager;  ///< ADDR:PORT or unix:PATH; empty: guessed from the environment, the sharpd that runs, `sumac up`.
  std::string tls_dir;  ///< The directory of the certificates with which the manager is asked; empty: SUMAC_TLS_DIR.
  Strings names;        ///< Hosts whose names this host should resolve.
  Strings peers;        ///< Those of them to which the path is measured.
};

Facts collect(const Wanted& wanted);

// The subjects, one file each.
void collect_machine(Facts& facts);   ///< processors, memory, limits, shared memory, single copy, clock
void collect_settings(Facts& facts);  ///< the kernel's settings that matter to Sumac
void collect_interfaces(Facts& facts);
void collect_names(Facts& facts, const Strings& names);
void collect_gpus(Facts& facts);
void collect_software(Facts& facts);
void collect_ucx(Facts& facts);       ///< UCX's own program runs in a child
void collect_hop(Facts& facts);       ///< sharp_an runs in a child
void collect_services(Facts& facts);  ///< sharpd and the manager, whose endpoint is set already
void collect_ports(Facts& facts);     ///< the ports of the manager and of the nodes that it lists
void collect_paths(Facts& facts, const Strings& peers);

/// The options with which a daemon on this host runs, as far as this user may read them.
struct DaemonOptions {
  LocalDaemon daemon;
  std::string socket;  ///< The socket of a sharpd.
  Strings tls_files;   ///< Words "option=path".
};
std::vector<DaemonOptions> find_daemons();
/// The socket at which this user's programs find sharpd.
std::string own_sharpd_socket();
void collect_secrets(Facts& facts, const std::vector<DaemonOptions>& daemons);

}  // namespace sumac::tools::doctor
