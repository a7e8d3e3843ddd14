// Selects the command of `sumac lab ...`.
#include "tools/lab/lab.hpp"

#include <fmt/core.h>

namespace sumac::tools {

namespace {

constexpr Subcommand kLabCommands[] = {
    {"up",
     "FILE.yaml [--bare] [--allow-insecure] [--name N] [--transport tcp|ucx] [--share DIR] [--foreground]   bring the "
     "fabric up, and its "
     "daemons",
     lab_up},
    {"exec", "[--name N] HOST -- COMMAND...   run a command on a host", lab_exec},
    {"mpirun", "[--name N] [MPIRUN'S ARGUMENTS] PROGRAM...   run an MPI program over the hosts", lab_mpirun},
    {"status", "[--name N] [--json]   hosts, nodes, daemons, links and what they dropped", lab_status},
    {"link", "[--name N] A B up|down|loss P   what becomes of frames between two neighbours", lab_link},
    {"daemon",
     "[--name N] NODE|HOST|manager stop|cont|kill|start   what becomes of a node, a host's sharpd or the manager",
     lab_daemon},
    {"down", "[--name N]   end it; nothing is left", lab_down},
    {"rsh", "HOST COMMAND...   as rsh would: what mpirun uses to reach the hosts", lab_rsh},
};

void print_help() {
  fmt::print("usage: sumac lab COMMAND ...\n\n");
  for (const auto& each : kLabCommands) fmt::print("  {:8} {}\n", each.name, each.summary);
  fmt::print(
      "\nThe file's form: docs/fabric.md. --name is needed only where several labs are up (or set SUMAC_LAB).\n");
}

}  // namespace

int lab_command(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? 2 : 0;
  }
  // The name may stand before the command too, as other programs have their common options.
  const bool named = arguments[0] == "--name";
  const std::size_t at = named ? 2 : 0;
  if (arguments.size() <= at)
    return complain("lab: --name without a name and a command behind it: see `sumac lab help`", 2);
  Arguments rest(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(at));
  rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1, arguments.end());
  for (const auto& each : kLabCommands)
    if (arguments[at] == each.name) return each.run(rest);
  return complain(fmt::format("lab: there is no command '{}': see `sumac lab help`", arguments[at]), 2);
}

}  // namespace sumac::tools
