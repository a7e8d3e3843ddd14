// `sumac run-manager` is the manager of one job of Python's (bindings/python/core/local_job.hpp): told on its standard
// input which hosts there are, in the form of talk.hpp, it signs the requests for their certificates and starts sharp_am.
//
// Input:  "address IP", where the hosts reach it; "host NAME", once for each; "nodes N": the first N have a node;
//         "csr/FILE": the hosts' requests; "parent PID".
// Output: "manager ADDRESS:PORT" and the certificates ("tls/FILE"), then "up"; or "failed REASON".
#include <sstream>

#include "net/own_address.hpp"
#include "tools/commands.hpp"
#include "tools/run/lifeline.hpp"
#include "tools/run/manager.hpp"
#include "tools/run/talk.hpp"

namespace sumac::tools {
namespace {

constexpr const char* kUsage =
    "usage: sumac run-manager\n\nStarted by a job of Python's that has asked for the tree; told on its standard input "
    "which\nhosts there are. Not for people.\n";

Result<ManagerOfRun> wanted_by(const Settings& settings, const std::string& directory, int interrupt_fd) {
  ManagerOfRun wanted{.hosts = {}, .address = {}, .directory = directory};
  std::istringstream hosts(get(settings, "host"));
  for (std::string host; std::getline(hosts, host);) wanted.hosts.push_back(host);
  const auto nodes = get(settings, "nodes");
  wanted.nodes = static_cast<std::size_t>(std::strtoul(nodes.c_str(), nullptr, 10));
  if (wanted.nodes == 0 || wanted.nodes > wanted.hosts.size())
    return fail(Errc::invalid, "nodes '{}': a number from 1 to {}, that of the hosts", nodes, wanted.hosts.size());
  auto own = net::address_towards(get(settings, "address"), interrupt_fd);
  if (!own) return tl::unexpected(own.error());
  wanted.address = own->address;
  return wanted;
}

Result<Served> start(Talk&, Settings settings, int interrupt_fd) {
  auto directory = RunDirectory::make();
  if (!directory) return tl::unexpected(directory.error());
  auto wanted = wanted_by(settings, directory->path(), interrupt_fd);
  if (!wanted) return tl::unexpected(wanted.error());
  auto manager = start_manager(*wanted, interrupt_fd);
  if (!manager) return tl::unexpected(manager.error());
  std::vector<control::Identity> holders;
  for (std::size_t i = 0; i < wanted->hosts.size(); ++i)
    for (auto& who : holders_on(wanted->hosts[i], i < wanted->nodes)) holders.push_back(std::move(who));
  auto texts = manager->authority->certify(holders, files_under(settings, "csr/"));
  if (!texts) return tl::unexpected(texts.error());
  (void)say("manager " + manager->endpoint);
  for (const auto& [name, text] : *texts) (void)say("tls/" + name, text);
  Served served{*std::move(directory), {}};
  served.daemons.push_back(std::move(manager->daemon));
  return served;
}

}  // namespace

int run_manager_command(const Arguments& arguments) { return serve(arguments, kUsage, start); }

}  // namespace sumac::tools
