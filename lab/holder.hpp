#pragma once
// The one parent of a lab. Everything of the lab (namespaces, switch, daemons, programs that people start in it)
// depends on this process and ends with it, however it ends.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

/// The identities of one namespace's daemons and people, such as "node" "an-leaf1", and the files (PEM) that prove
/// them.
using Identities = std::vector<std::pair<std::string, std::string>>;
using PlaceFiles = std::map<std::string, std::string>;

struct LabOptions {
  std::string name;
  std::string fabric_file;    ///< An absolute path; the manager reads the file too.
  std::string bin_directory;  ///< The directory of the daemons' programs.
  std::string transport;      ///< Transport of the nodes' data; empty: their own default.
  bool daemons = true;
  /// Makes certificates of the lab's own authority; not set: its daemons talk in clear text.
  std::function<Result<PlaceFiles>(const Identities&)> certify;
  bool foreground = false;  ///< The lab ends when the reader closes `report`.
  std::vector<std::string> shared_directories;
};

/// Returns the abstract socket of a lab in the machine's network namespace. The name contains the user, so two people
/// may have labs of one name.
std::string control_name(const std::string& lab_name);
/// Returns the names of this user's labs that are up.
std::vector<std::string> running_labs();

/// Becomes the parent of a lab; call it in a process of its own. It writes lines to `report`: "+ TEXT" for each thing
/// made, then "ready", or "! TEXT" and ends. Returns the exit status.
int hold_lab(const topo::Fabric& fabric, const LabOptions& options, UniqueFd report);

}  // namespace sumac::lab
