#pragma once
// The one parent of a lab. Everything of the lab (places, switch, daemons, what people start in it) lives by it, and
// ends when it ends, however it ends.
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac::lab {

/// The identity of one place's daemons and people, as "node" "an-leaf1", and the files (PEM) that prove it.
using Identities = std::vector<std::pair<std::string, std::string>>;
using PlaceFiles = std::map<std::string, std::string>;

struct LabOptions {
  std::string name;
  std::string fabric_file;    ///< Absolute; the manager reads it too.
  std::string bin_directory;  ///< Where the daemons' programs lie.
  std::string transport;      ///< Of the nodes' data; empty: their own default.
  bool daemons = true;
  /// Makes certificates of the lab's own authority; none: its daemons talk in clear text.
  std::function<Result<PlaceFiles>(const Identities&)> certify;
  bool foreground = false;  ///< Ends when `report` is closed by its reader.
  std::vector<std::string> shared_directories;
};

/// The abstract socket of a lab in the machine's network namespace. Names carry the user: two people, two labs.
std::string control_name(const std::string& lab_name);
/// The names of this user's labs that are up.
std::vector<std::string> running_labs();

/// Becomes the parent of a lab; call it in a process of its own. Lines to `report`: "+ TEXT" for each thing made, then
/// "ready", or "! TEXT" and the end. Returns the exit status.
int hold_lab(const topo::Fabric& fabric, const LabOptions& options, UniqueFd report);

}  // namespace sumac::lab
