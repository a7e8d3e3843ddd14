// `sumac lab mpirun`: the distribution's mpirun, started on the lab's first host, with what it needs to find the others.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/client.hpp"
#include "tools/lab.hpp"
#include "tools/lab_name.hpp"
#include "tools/stderr_filter.hpp"

namespace sumac::tools {

namespace {

bool has(const Arguments& arguments, std::initializer_list<const char*> flags) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
    return std::find(flags.begin(), flags.end(), word) != flags.end();
  });
}

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (::access((directory + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void add_mca(Arguments& command, const Arguments& given, const std::string& name, const std::string& value) {
  if (has(given, {name.c_str()})) return;  // the user's word goes first
  command.insert(command.end(), {"--mca", name, value});
}

}  // namespace

int lab_mpirun(const Arguments& arguments) {
  auto given = arguments;
  const auto name = take_name(given);
  if (given.empty())
    return complain("lab mpirun: usage: sumac lab mpirun [--name N] [MPIRUN'S ARGUMENTS] PROGRAM...", 2);
  if (!on_path("mpirun")) return complain("mpirun is not on the PATH: install Open MPI (Debian: openmpi-bin)", 127);
  const auto text = lab::ask_status(name);
  if (!text) return complain(text.error().context);
  const auto status = nlohmann::json::parse(*text);
  std::string hosts;
  std::string first;
  std::string device;   // of the first host, as those of the others
  std::string devices;  // all of its ports: MPI's own traffic may use every rail
  for (const auto& host : status["hosts"]) {
    if (!host["compute"].get<bool>()) continue;
    const auto host_name = host["name"].get<std::string>();
    if (first.empty()) {
      first = host_name;
      device = host["ports"][0]["device"].get<std::string>();
      for (const auto& port : host["ports"])
        devices += (devices.empty() ? "" : ",") + port["device"].get<std::string>();
    }
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", host_name, host["slots"].get<unsigned>());
  }
  if (first.empty()) return complain("lab mpirun: no host of this lab takes ranks: all say 'compute: false'");
  Arguments command{"mpirun"};
  if (!has(given, {"--allow-run-as-root"})) command.emplace_back("--allow-run-as-root");
  if (!has(given, {"--host", "-host", "-H", "--hostfile", "-hostfile", "--machinefile", "-machinefile"})) {
    command.insert(command.end(), {"--host", hosts});
  }
  // Every host counts the machine's same few cores as its own: bound, the ranks of all hosts would share the first.
  if (!has(given, {"--bind-to", "-bind-to"})) command.insert(command.end(), {"--bind-to", "none"});
  add_mca(command, given, "plm_rsh_agent", bin_directory() + "/sumac lab rsh");
  add_mca(command, given, "btl_tcp_if_include", devices);
  add_mca(command, given, "oob_tcp_if_include", device);
  command.insert(command.end(), given.begin(), given.end());
  // Open MPI 4.1 warns when the agent that it forked was quicker to run than it was itself to put the agent into a process
  // group, which the agent has done by then. That happens often on two cores, means nothing, and frightens people.
  auto filter =
      StderrFilter::start([](std::string_view line) { return line.find("plm:rsh: Warning: setpgid(") != line.npos; });
  if (!filter) return complain(filter.error().context);
  const auto exit_status = lab::run_in_place(name, first, lab::command_from_here(std::move(command)));
  filter->reset();
  return exit_status ? *exit_status : complain(exit_status.error().context, 125);
}

}  // namespace sumac::tools
