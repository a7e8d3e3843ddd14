#pragma once
// Lists the daemons that a fabric asks for, their namespaces and their flags. Only this code knows the daemons' command
// lines.
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lab/holder.hpp"
#include "lab/plan.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

struct DaemonSpec {
  std::string called;  ///< "manager", "an-leaf1", "h3": for `sumac lab daemon`.
  std::string name;    ///< "sharp_am", "sharp_an an-leaf1", "sharpd h3": for people.
  std::string place;   ///< The namespace in which it runs.
  std::vector<std::string> arguments;
  std::string log_name;
  std::pair<std::string, std::string> identity;  ///< Role and name in its certificate.
};

/// The daemons are in the order of starting: the manager alone first, then all others together. Errc::invalid if the
/// fabric names no manager or no node; Errc::not_found if a program is missing.
Result<std::vector<DaemonSpec>> list_daemons(const topo::Fabric& fabric, const Plan& plan, const LabOptions& options);

}  // namespace sumac::lab
