#include "tools/bench/commands.hpp"

namespace sumac::tools::bench {
namespace {

void add(std::vector<std::string>& to, const std::vector<std::string>& words) {
  to.insert(to.end(), words.begin(), words.end());
}

}  // namespace

std::vector<std::string> command_of(const Request& request, const Places& places, LauncherFamily family, Side side,
                                    bool json) {
  std::vector<std::string> command;
  const bool open_mpi = family == LauncherFamily::open_mpi;
  if (places.lab.empty()) {
    command = {"run"};
    add(command, request.run);
    add(command, request.launcher);
  } else {
    command = {"lab", "mpirun", "--name", places.lab};
    command.insert(command.end(), request.launcher.begin() + 1, request.launcher.end());
    // Sockets on both sides, as between real hosts of an Ethernet: the lab's hosts share this machine's memory.
    add(command, {"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"});
    // The lab's tree; other settings come from the environment.
    if (side == Side::with) add(command, {"-x", "HCOLL_ENABLE_SHARP=" + places.lab_level});
  }
  if (request.ranks > 0) add(command, {"-n", std::to_string(request.ranks)});
  if (places.crowded && open_mpi) command.emplace_back("--oversubscribe");
  // Open MPI takes variables of the environment to this host alone, so its words name them.
  if (side == Side::without && open_mpi) add(command, {"-x", "SUMAC_ENABLE=0"});
  if (side == Side::without && family == LauncherFamily::hydra) add(command, {"-genv", "SUMAC_ENABLE", "0"});
  command.push_back(places.program);
  if (json) command.emplace_back("--json");
  add(command, request.benchmark);
  return command;
}

}  // namespace sumac::tools::bench
