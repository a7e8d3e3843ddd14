// `sumac`: one program for users. Its subcommands are listed here and live in files of their own.
#include <fmt/core.h>

#include <string>
#include <string_view>

#include "control/command_line.hpp"
#include "tools/commands.hpp"

namespace sumac::tools {

namespace {

constexpr Subcommand kSubcommands[] = {
    {"run", "run a program with manager, nodes and sharpds of its own, on this machine or on several hosts",
     run_command},
    {"up", "manager, one node and sharpd on this machine, until `sumac down`", up_command},
    {"down", "end what `sumac up` started", down_command},
    {"status", "what `sumac up` started, whether it runs, and where its logs are", status_command},
    {"top", "what the daemons do now, from their metrics, refreshed each second", top_command},
    {"ps", "the running jobs on this host, and what each does now", ps_command},
    {"explain", "which collective of a running job waits for which rank, and since when", explain_command},
    {"bench", "measure collectives as OSU's and Intel's benchmarks do, or compare with and without Sumac",
     bench_command},
    {"page", "the address of the manager's page for a browser, with a token for who asks", page_command},
    {"fabric", "what a fabric file says, and the trees that come of it: show, bounds", fabric_command},
    {"tune", "measure this machine and write which algorithm serves which sizes inside a host", tune_command},
    {"lab", "an emulated fabric on this machine: up, exec, mpirun, link, daemon, status, down", lab_command},
    {"chaos", "run checked jobs in a lab whose daemons and links fail, and say how they end", chaos_command},
    {"pki", "certificates for daemons that talk over a network: init, issue, show", pki_command},
    {"doctor", "what is wrong with this machine, or with several hosts side by side, and how to mend it",
     doctor_command},
};

void print_help() {
  fmt::print("usage: sumac SUBCOMMAND ...\n       sumac --version\n\n");
  for (const auto& each : kSubcommands) fmt::print("  {:8} {}\n", each.name, each.summary);
}

}  // namespace

}  // namespace sumac::tools

int main(int argc, char** argv) {
  using namespace sumac::tools;
  const Arguments all(argv + 1, argv + argc);
  if (all.empty() || all[0] == "help" || all[0] == "--help" || all[0] == "-h") {
    print_help();
    return all.empty() ? 2 : 0;
  }
  if (all[0] == "version" || all[0] == "--version" || all[0] == "-v") {
    fmt::print("sumac {}\n", sumac::control::version_text());
    return 0;
  }
  // These are not for users.
  if (all[0] == "doctor-host") return doctor_host_command({all.begin() + 1, all.end()});
  if (all[0] == "run-host") return run_host_command({all.begin() + 1, all.end()});
  if (all[0] == "run-step") return run_step_command({all.begin() + 1, all.end()});
  if (all[0] == "run-manager") return run_manager_command({all.begin() + 1, all.end()});
  for (const auto& each : kSubcommands) {
    if (all[0] == each.name) return each.run({all.begin() + 1, all.end()});
  }
  return complain(fmt::format("there is no subcommand '{}': see `sumac help`", all[0]), 2);
}
