// `sumac lab mpirun`: the distribution's mpirun, started on the lab's first host with the options by which it finds the
// others.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "lab/client.hpp"
#include "tools/lab/lab.hpp"
#include "tools/lab/name.hpp"
#include "tools/run/environment.hpp"
#include "tools/run/stderr_filter.hpp"

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

constexpr std::initializer_list<const char*> kHostLists = {"--host", "-host", "-H"};
constexpr std::initializer_list<const char*> kHostFiles = {"--hostfile", "-hostfile", "--machinefile", "-machinefile"};

/// The hosts that take ranks.
struct RankHosts {
  std::vector<std::pair<std::string, unsigned>> slots;  ///< For each host, in the order of the file.
  std::string device;   ///< The device of the first host; the others have the same name.
  std::string devices;  ///< All of its ports, since MPI's own traffic may use every rail.

  std::string list() const {
    std::string text;
    for (const auto& [host, count] : slots) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host, count);
    return text;
  }
};

RankHosts rank_hosts(const nlohmann::json& status) {
  RankHosts found;
  for (const auto& host : status["hosts"]) {
    if (!host["compute"].get<bool>()) continue;
    if (found.slots.empty()) {
      found.device = host["ports"][0]["device"].get<std::string>();
      for (const auto& port : host["ports"])
        found.devices += (found.devices.empty() ? "" : ",") + port["device"].get<std::string>();
    }
    found.slots.emplace_back(host["name"].get<std::string>(), host["slots"].get<unsigned>());
  }
  return found;
}

/// Changes "a,b:2" to "a:16,b:2": a host that is listed once and without a number gets the slots of the fabric file, as
/// it would get those of a batch system.
std::string with_slots(const std::string& list, const RankHosts& hosts) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  std::string text;
  for (const auto& word : words) {
    const auto host = std::ranges::find(hosts.slots, word, &std::pair<std::string, unsigned>::first);
    const bool ours = host != hosts.slots.end() && std::ranges::count(words, word) == 1;
    text += (text.empty() ? "" : ",") + (ours ? fmt::format("{}:{}", word, host->second) : word);
  }
  return text;
}

/// Is this a command line for HCOLL? It is if it names a variable of HCOLL's or Open MPI's parameter for it, or if the
/// environment does.
bool asks_for_hcoll(const Arguments& given) {
  const auto names_it = [](std::string_view word) {
    return word.starts_with("HCOLL_") || word.starts_with("coll_hcoll_");
  };
  if (std::ranges::any_of(given, names_it)) return true;
  return std::ranges::any_of(own_environment(), [&](std::string_view variable) {
    return names_it(variable) || variable.starts_with("OMPI_MCA_coll_hcoll_");
  });
}

/// Open MPI 4.1 takes pml/ucx only where UCX finds an RDMA device, unless these two say otherwise.
bool asks_for_ucx(const Arguments& given) {
  for (std::size_t i = 0; i + 1 < given.size(); ++i)
    if (given[i] == "pml" && given[i + 1] == "ucx") return true;
  const char* pml = std::getenv("OMPI_MCA_pml");
  return pml != nullptr && std::string_view(pml) == "ucx";
}

void add_mca(Arguments& command, const Arguments& given, const std::string& name, const std::string& value) {
  if (has(given, {name.c_str()})) return;  // The user's option has precedence.
  if (std::getenv(("OMPI_MCA_" + name).c_str()) != nullptr) return;
  command.insert(command.end(), {"--mca", name, value});
}

/// PMIx in the mpirun of Open MPI 5 reads this parameter too, and prints what it does not find there. By its long name,
/// with opal_ before it, Open MPI alone reads it.
constexpr const char* kComponentPath = "mca_base_component_path";

/// Builds mpirun's command line from its options for this lab and the user's words.
Arguments command_for(const RankHosts& hosts, Arguments given) {
  Arguments command{"mpirun"};
  if (!has(given, {"--allow-run-as-root"})) command.emplace_back("--allow-run-as-root");
  if (!has(given, kHostLists) && !has(given, kHostFiles)) command.insert(command.end(), {"--host", hosts.list()});
  for (std::size_t i = 0; i + 1 < given.size(); ++i)
    if (std::ranges::find(kHostLists, given[i]) != kHostLists.end()) given[i + 1] = with_slots(given[i + 1], hosts);
  // Every host counts the machine's same few cores as its own: if ranks were bound, those of all hosts would share the
  // first cores, and a rank that waits without yielding would block the ranks it waits for.
  if (!has(given, {"--bind-to", "-bind-to"})) command.insert(command.end(), {"--bind-to", "none"});
  add_mca(command, given, "mpi_yield_when_idle", "1");
  add_mca(command, given, "plm_rsh_agent", bin_directory() + "/sumac lab rsh");
  add_mca(command, given, "btl_tcp_if_include", hosts.devices);
  add_mca(command, given, "oob_tcp_if_include", hosts.device);
  if (asks_for_ucx(given))
    for (const auto* name : {"opal_common_ucx_tls", "opal_common_ucx_devices"}) add_mca(command, given, name, "any");
  if (asks_for_hcoll(given)) {
    const auto libraries = std::filesystem::path(bin_directory()).parent_path().string() + "/lib";
    for (const auto& [name, value] : component_parameters(libraries)) {
      if (name != kComponentPath)
        add_mca(command, given, name, value);
      else if (!has(given, {kComponentPath}) &&
               std::getenv((std::string("OMPI_MCA_") + kComponentPath).c_str()) == nullptr)
        add_mca(command, given, std::string("opal_") + kComponentPath, value);
    }
  }
  command.insert(command.end(), given.begin(), given.end());
  return command;
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
  const auto hosts = rank_hosts(nlohmann::json::parse(*text));
  if (hosts.slots.empty()) return complain("lab mpirun: no host of this lab takes ranks: all say 'compute: false'");
  // Open MPI 4.1 warns when the agent that it forked ran before Open MPI itself could put the agent into a process
  // group, which the agent has done by then. That happens often on two cores, is harmless, and alarms users.
  auto filter =
      StderrFilter::start([](std::string_view line) { return line.find("plm:rsh: Warning: setpgid(") != line.npos; });
  if (!filter) return complain(filter.error().context);
  const auto exit_status =
      lab::run_in_place(name, hosts.slots.front().first, lab::command_from_here(command_for(hosts, std::move(given))));
  filter->reset();
  return exit_status ? *exit_status : complain(exit_status.error().context, 125);
}

}  // namespace sumac::tools
