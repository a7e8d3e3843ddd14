// Selects the command of `sumac lab ...`.
#include "tools/lab/lab.hpp"

#include <fmt/core.h>

#include <iterator>

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
  for (const auto& each : kLabCommands) {
    if (arguments[0] == each.name) return each.run({std::next(arguments.begin()), arguments.end()});
  }
  return complain(fmt::format("lab: there is no command '{}': see `sumac lab help`", arguments[0]), 2);
}

}  // namespace sumac::tools
