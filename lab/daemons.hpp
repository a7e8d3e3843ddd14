#pragma once
// Which daemons a fabric asks for, where, and with which flags: the one place that knows their command lines.
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lab/holder.hpp"
#include "lab/plan.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

struct DaemonSpec {
  std::string name;   ///< "sharp_am", "sharp_an an-leaf1", "sharpd h3": for people.
  std::string place;  ///< Where it runs.
  std::vector<std::string> arguments;
  std::string log_name;
  std::pair<std::string, std::string> identity;  ///< Role and name in its certificate.
};

/// In the order of starting: the manager alone first, then all others together.
/// Errc::invalid if the fabric names no manager or no node; Errc::not_found if a program is missing.
Result<std::vector<DaemonSpec>> list_daemons(const topo::Fabric& fabric, const Plan& plan, const LabOptions& options);

}  // namespace sumac::lab
