#include "lab/daemons.hpp"

#include <unistd.h>

#include "lab/place.hpp"

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
  // With ports in several planes it listens in all of them.
  const auto own = manager.port_count > 1 ? "0.0.0.0" : ip_text(plan.first_port_of(manager).ip);
  const auto listen = fmt::format("{}:{}", own, fabric.manager->port);
  const auto address_for = [&](const Place& place) -> Result<std::string> {
    const auto ip = plan.address_for(place, manager);
    if (!ip)
      return fail(Errc::invalid,
                  "{}: {} and the manager have no plane in common: give the manager's host a port there, "
                  "or place the manager at a switch",
                  fabric_file, place.name);
    return fmt::format("{}:{}", ip_text(*ip), fabric.manager->port);
  };
  const auto trust = [&](std::vector<std::string>& command) {
    if (options.certify)
      command.insert(command.end(), {"--tls-dir", kTlsDirectory});
    else
      command.emplace_back("--allow-insecure");
    command.insert(command.end(), {"--ready-fd", "3"});
  };
  std::vector<DaemonSpec> daemons;
  daemons.push_back({"manager",
                     "sharp_am",
                     manager.name,
                     {program("sharp_am"), "--fabric", fabric_file, "--listen", listen, "--user-share-max-percent",
                      "100", "--state-dir", "/run/sumac/manager"},
                     "sharp_am.log",
                     {"manager", "lab"}});
  trust(daemons.back().arguments);
  for (const auto& node : fabric.nodes) {
    const auto& place = place_of(plan, node.place, node.name);
    const auto address = address_for(place);
    if (!address) return tl::unexpected(address.error());
    const auto& device = plan.first_port_of(place).device;
    std::vector<std::string> command{program("sharp_an"), "--name", node.name, "--manager", *address,
                                     "--device",          device};
    if (!options.transport.empty()) command.insert(command.end(), {"--transport", options.transport});
    trust(command);
    daemons.push_back({node.name,
                       "sharp_an " + node.name,
                       place.name,
                       std::move(command),
                       "sharp_an." + node.name + ".log",
                       {"node", node.name}});
  }
  for (const auto& host : fabric.hosts) {
    if (!host.compute) continue;
    const auto address = address_for(*find_place(plan, host.name));
    if (!address) return tl::unexpected(address.error());
    daemons.push_back({host.name,
                       "sharpd " + host.name,
                       host.name,
                       {program("sharpd"), "--manager", *address},
                       "sharpd." + host.name + ".log",
                       {"host", host.name}});
    trust(daemons.back().arguments);
  }
  return daemons;
}

}  // namespace sumac::lab
