#pragma once
// Parses lists of hosts in the forms that users and batch systems write. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

inline constexpr std::size_t kHostsMax = 65536;

struct HostEntry {
  std::string name;
  unsigned slots = 0;  ///< The number of ranks that it takes, as for mpirun; 0: not given.
  bool operator==(const HostEntry&) const = default;
};

/// Parses "a,b:4,n[001-003,7],m[1-2]-ib0": commas, ranges in brackets with their leading zeros (Slurm's form), ":SLOTS"
/// (mpirun's), "[fd00::1]:4".
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// Returns the hosts' names in the fabric of a run, whose names are short: the name itself, its part before the first dot,
/// or the number in the list. No two are the same.
std::vector<std::string> fabric_names(const std::vector<HostEntry>& hosts);

/// Parses one host a line, "NAME [slots=N]", with comments after #, as mpirun does. Errors name `what` and the line.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& what);

}  // namespace sumac::tools
