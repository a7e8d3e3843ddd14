#pragma once
// The three daemons of one machine, which `sumac up` and `sumac run` start: what each is started with, and their fabric file.
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

using Commands = std::vector<
    std::pair<std::string, std::vector<std::string>>>;  ///< Program and its words, in the order of starting.

struct LocalPlaces {
  std::string fabric, manager_socket, sharpd_socket;
  std::string transport;  ///< "tcp", "ucx"; empty: sharp_an's own default.
  std::vector<std::string> manager_options{};
  std::vector<std::string> node_options{};
};

/// For daemons that serve one `sumac run` and nobody else: a job that asks for nothing gets a quarter of the node, so that four may run side by
/// side, and the node has OSTs for 16 operations in flight of each of its groups. A variable that the user has set stays.
std::vector<std::string> manager_of_one_run();
std::vector<std::string> node_of_one_run();

/// Errc::invalid if one of the programs is not beside this one.
Result<Commands> local_daemon_commands(const LocalPlaces& places);

/// One host called localhost and one node on one switch.
Result<> write_local_fabric(const std::string& path);

/// What the node is to offer: the program's own SUMAC_TRANSPORT would refuse any other. Empty: sharp_an's own default.
std::string transport_of_environment();

/// UCX reaches an address only from the device it belongs to, so node and program must use the same: loopback, unless told.
std::string device_of_environment();

}  // namespace sumac::tools
