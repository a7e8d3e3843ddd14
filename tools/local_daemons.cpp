#include "tools/local_daemons.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "tools/commands.hpp"

namespace sumac::tools {

Result<> write_local_fabric(const std::string& path, const std::string& name) {
  std::ofstream file(path);
  file << "# One machine: its host and its node hang on one switch.\n"
          "name: "
       << name
       << "\nswitches: [here]\n"
          "hosts: {localhost: {leaf: here}}\n"
          "nodes: {node: {switch: here}}\n"
          "manager: {switch: here}\n";
  if (!file.flush()) return fail(Errc::io, "{}: can't be written", path);
  return {};
}

std::string transport_of_environment() {
  for (const char* name : {"SUMAC_NODE_TRANSPORT", "SUMAC_TRANSPORT"}) {
    const char* set = std::getenv(name);
    const std::string_view text = set == nullptr ? "" : set;
    if (text == "tcp" || text == "ucx") return std::string(text);
  }
  return {};
}

std::string device_of_environment() {
  const char* set = std::getenv("SUMAC_NET_DEVICE");
  return set == nullptr || *set == '\0' ? "lo" : set;
}

namespace {

std::vector<std::string> unless_set(const char* variable, std::vector<std::string> words) {
  const char* set = std::getenv(variable);
  return set == nullptr || *set == '\0' ? std::move(words) : std::vector<std::string>{};
}

}  // namespace

std::vector<std::string> manager_of_one_run() {
  return unless_set("SUMAC_AM_DEFAULT_QUOTA_PERCENT", {"--default-quota-percent", "25"});
}

Result<Commands> local_daemon_commands(const LocalPlaces& places) {
  const std::string bin = bin_directory(), manager = "unix:" + places.manager_socket;
  Commands commands = {
      // All of it belongs to the user who starts it, even root.
      {"sharp_am",
       {bin + "/sharp_am", "--fabric", places.fabric, "--listen", manager, "--user-share-max-percent", "100"}},
      {"sharp_an",
       {bin + "/sharp_an", "--name", "node", "--manager", manager, "--listen", "127.0.0.1:0", "--device", "lo"}},
      {"sharpd", {bin + "/sharpd", "--host", "localhost", "--manager", manager, "--socket", places.sharpd_socket}},
  };
  auto& [name, am] = commands[0];
  am.insert(am.end(), places.manager_options.begin(), places.manager_options.end());
  auto& node = commands[1].second;
  if (places.transport == "ucx") node.back() = device_of_environment();
  if (!places.transport.empty()) node.insert(node.end(), {"--transport", places.transport});
  for (const auto& [program, command] : commands)
    if (::access(command[0].c_str(), X_OK) < 0)
      return fail(Errc::invalid, "{} is not there: build it, or install the daemons beside `sumac`", command[0]);
  return commands;
}

}  // namespace sumac::tools
