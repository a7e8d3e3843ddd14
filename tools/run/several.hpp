#pragma once
// `sumac run` over several hosts: the choice of hosts, the daemons that each of them starts, and mpirun's options for
// them.
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "launch/daemon.hpp"
#include "tools/run/host_list.hpp"
#include "tools/run/hosts.hpp"

namespace sumac::tools {

struct SeveralHosts {
  std::vector<HostEntry> hosts;
  std::string launcher;       ///< ssh, or a substitute for it.
  bool own_launcher = false;  ///< A user named it, so mpirun should use it too.
  bool batch = false;         ///< The hosts come from a batch system, so mpirun knows them.
  unsigned nodes = 1;         ///< The number of hosts that have a sharp_an.
  std::string address;        ///< The address by which hosts reach the manager, which runs here; empty: determined
                              ///< automatically.
  bool allow_insecure = false;
  std::string transport;
  bool keep_logs = false;
};

/// Returns the hosts of the Slurm allocation that we are in, reached by srun; nothing outside of one. A list that makes
/// no sense is an error.
Result<std::optional<SeveralHosts>> slurm_allocation();

/// The manager, which runs here, is added to `daemons`; the rest runs on the hosts. Returns when a job can begin.
Result<> start_several(const SeveralHosts& several, std::vector<launch::Daemon>& daemons, RunHosts& hosts,
                       const std::string& directory, int interrupt_fd);

/// `command` begins with an mpirun: returns it with the hosts and the variables that their processes need, unless the
/// command sets them itself.
std::vector<std::string> mpirun_on(const SeveralHosts& several, std::vector<std::string> command,
                                   const std::vector<std::string>& environment);

}  // namespace sumac::tools
