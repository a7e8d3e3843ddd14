#pragma once
#include <string>
#include <vector>

#include "lab/packet_switch.hpp"
#include "lab/plan.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

struct DaemonStatus {
  std::string name;
  std::string place;
  pid_t pid = 0;
  bool alive = false;
  int wait_status = 0;  ///< The status that wait() returned, once it is not alive.
  std::string log;
};

/// Returns the lab as JSON: the output of `sumac lab status --json` (docs/fabric.md names the fields).
std::string status_json(const std::string& lab_name, const std::string& fabric_file, const topo::Fabric& fabric,
                        const Plan& plan, PacketSwitch& packet_switch, const std::vector<DaemonStatus>& daemons);

}  // namespace sumac::lab
