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

/// Reads the hosts in a file of the form that mpirun reads.
Result<std::vector<HostEntry>> read_hostfile(const std::string& path);

/// Returns the hosts of the Slurm allocation that we are in, reached by srun; nothing outside of one. A list that makes
/// no sense is an error.
Result<std::optional<SeveralHosts>> slurm_allocation();

/// The manager, which runs here, is added to `daemons`; the rest runs on the hosts. Returns when a job can begin.
Result<> start_several(const SeveralHosts& several, std::vector<launch::Daemon>& daemons, RunHosts& hosts,
                       const std::string& directory, int interrupt_fd);

/// `command[launcher]` is a launcher of Open MPI: returns the command with the hosts and the variables that their
/// processes need, unless the command sets them itself. `preload`: LD_PRELOAD is one of these variables.
std::vector<std::string> mpirun_on(const SeveralHosts& several, std::vector<std::string> command, std::size_t launcher,
                                   const std::vector<std::string>& environment, bool preload);

/// Adds `-x LD_PRELOAD`, for hosts that the command itself names, and `-x ASAN_OPTIONS` for a program that needs it.
std::vector<std::string> mpirun_with_preload(std::vector<std::string> command, std::size_t launcher,
                                             bool address_sanitizer);

/// `command[launcher]` is hydra, which passes the environment on by itself: returns the command with the hosts.
std::vector<std::string> hydra_on(const SeveralHosts& several, std::vector<std::string> command, std::size_t launcher);

}  // namespace sumac::tools
