#include "tools/doctor/collect.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "control/command_line.hpp"
#include "tools/manager_status.hpp"

namespace sumac::tools::doctor {
namespace {

/// The sharpd of this host knows its manager best, unless the environment says otherwise.
std::string guess_manager(const std::vector<DaemonOptions>& daemons) {
  if (const char* set = std::getenv("SUMAC_HOSTD_MANAGER"); set == nullptr || *set == '\0')
    for (const auto& each : daemons)
      if (each.daemon.program == "sharpd" && each.socket == own_sharpd_socket()) return each.daemon.manager;
  return manager_of_environment();
}

}  // namespace

Facts collect(const Wanted& wanted) {
  // gRPC and the search for certificates read the environment, and no thread runs yet.
  if (!wanted.tls_dir.empty()) ::setenv("SUMAC_TLS_DIR", wanted.tls_dir.c_str(), 1);
  Facts facts;
  utsname system{};
  ::uname(&system);
  facts.host = system.nodename;
  facts.kernel = system.release;
  facts.sumac = control::version_text();
  facts.cluster = wanted.cluster;
  facts.now_s = std::time(nullptr);
  collect_machine(facts);
  collect_settings(facts);
  collect_interfaces(facts);
  collect_gpus(facts);
  collect_names(facts, wanted.names);
  collect_software(facts);
  collect_ucx(facts);
  collect_hop(facts);
  const auto daemons = find_daemons();
  for (const auto& each : daemons) facts.daemons.push_back(each.daemon);
  facts.manager.endpoint = wanted.manager.empty() ? guess_manager(daemons) : wanted.manager;
  collect_services(facts);  // gRPC starts threads: no child is made from here on.
  collect_secrets(facts, daemons);
  collect_ports(facts);
  collect_paths(facts, wanted.peers);
  return facts;
}

}  // namespace sumac::tools::doctor
