#pragma once
// `sumac run` over several hosts: which ones, what each of them starts, and what mpirun has to be told of them.
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/host_list.hpp"
#include "tools/run_children.hpp"
#include "tools/run_hosts.hpp"

namespace sumac::tools {

struct SeveralHosts {
  std::vector<HostEntry> hosts;
  std::string launcher;       ///< ssh, or what stands in for it.
  bool own_launcher = false;  ///< A person named it: mpirun is to use it too.
  bool batch = false;         ///< The hosts are a batch system's: mpirun knows them.
  unsigned nodes = 1;         ///< So many of the hosts have a sharp_an.
  std::string address;        ///< Where hosts find the manager, which runs here; empty: found out.
  bool allow_insecure = false;
  std::string transport;
  bool keep_logs = false;
};

/// The hosts of the Slurm allocation that we are in, reached by srun; nothing outside of one. A list that makes no sense is an error.
Result<std::optional<SeveralHosts>> slurm_allocation();

/// The manager joins `daemons`, which runs here; the rest runs on the hosts. Returns when a job can begin.
Result<> start_several(const SeveralHosts& several, std::vector<RunDaemon>& daemons, RunHosts& hosts,
                       const std::string& directory, int interrupt_fd);

/// `command` begins with an mpirun: the same with the hosts and the variables that their processes need, unless it says so itself.
std::vector<std::string> mpirun_on(const SeveralHosts& several, std::vector<std::string> command,
                                   const std::vector<std::string>& environment);

}  // namespace sumac::tools
