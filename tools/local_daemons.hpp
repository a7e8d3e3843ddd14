#pragma once
// The three daemons of one machine, which `sumac up` and `sumac run` start: their command lines, and their fabric file.
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

/// Programs and their arguments, in the order of starting.
using Commands = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct LocalPlaces {
  std::string fabric, manager_socket, sharpd_socket;
  std::string transport;  ///< "tcp", "ucx"; empty: sharp_an's own default.
  std::vector<std::string> manager_options{};
};

/// Options for a manager that serves only one `sumac run`: a job without a request gets a quarter of the node, so that four
/// may run side by side. Variables that the user has set remain.
std::vector<std::string> manager_of_one_run();

/// Errc::invalid if one of the programs is not in this program's directory.
Result<Commands> local_daemon_commands(const LocalPlaces& places);

/// Writes a fabric of one host called localhost and one node on one switch.
Result<> write_local_fabric(const std::string& path, const std::string& name);

/// Returns the transport that the node must offer: the program's SUMAC_TRANSPORT, because the program would refuse any
/// other. Empty: sharp_an's own default.
std::string transport_of_environment();

/// UCX reaches an address only from its own device, so node and program must use the same one: loopback, unless the
/// user names another.
std::string device_of_environment();

}  // namespace sumac::tools
