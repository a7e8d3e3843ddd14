#include "lab/daemons.hpp"

#include <unistd.h>

namespace sumac::lab {

Result<std::vector<DaemonSpec>> list_daemons(const topo::Fabric& fabric, const Plan& plan, const LabOptions& options) {
  const auto& fabric_file = options.fabric_file;
  if (!fabric.manager)
    return fail(Errc::invalid, "{}: no manager to start: add 'manager', or 'daemons: false'", fabric_file);
  if (fabric.nodes.empty())
    return fail(Errc::invalid, "{}: no node to start: add 'nodes', or 'daemons: false'", fabric_file);
  const auto program = [&](const char* name) { return options.bin_directory + "/" + name; };
  for (const auto* name : {"sharp_am", "sharp_an", "sharpd"}) {
    if (::access(program(name).c_str(), X_OK) < 0) {
      return fail(Errc::not_found, "{} is not there: build it, or bring the lab up with --bare", program(name));
    }
  }
  const auto& manager = place_of(plan, fabric.manager->place, "manager");
  const auto address = fmt::format("{}:{}", ip_text(manager.ip), fabric.manager->port);
  std::vector<DaemonSpec> daemons;
  daemons.push_back(
      {"sharp_am",
       manager.name,
       {program("sharp_am"), "--fabric", fabric_file, "--listen", address, "--allow-insecure", "--ready-fd", "3"},
       "sharp_am.log"});
  for (const auto& node : fabric.nodes) {
    const auto& place = place_of(plan, node.place, node.name);
    std::vector<std::string> command{program("sharp_an"), "--name", node.name,         "--manager", address,
                                     "--device",          kDevice,  "--allow-insecure"};
    if (!options.transport.empty()) command.insert(command.end(), {"--transport", options.transport});
    command.insert(command.end(), {"--ready-fd", "3"});
    daemons.push_back({"sharp_an " + node.name, place.name, std::move(command), "sharp_an." + node.name + ".log"});
  }
  for (const auto& host : fabric.hosts) {
    if (!host.compute) continue;
    daemons.push_back({"sharpd " + host.name,
                       host.name,
                       {program("sharpd"), "--manager", address, "--allow-insecure", "--ready-fd", "3"},
                       "sharpd." + host.name + ".log"});
  }
  return daemons;
}

}  // namespace sumac::lab
