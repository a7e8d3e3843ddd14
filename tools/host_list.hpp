#pragma once
// Lists of hosts as people and batch systems write them. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::tools {

inline constexpr std::size_t kHostsMax = 65536;

struct HostEntry {
  std::string name;
  unsigned slots = 0;  ///< Ranks that it takes, as mpirun's; 0: not said.
  bool operator==(const HostEntry&) const = default;
};

/// "a,b:4,n[001-003,7],m[1-2]-ib0": commas, ranges in brackets with their leading zeros (Slurm's form), ":SLOTS" (mpirun's).
Result<std::vector<HostEntry>> parse_host_list(std::string_view text);

/// A host a line, "NAME [slots=N]", # begins a comment: as mpirun reads it. `what` is named in errors, with the line.
Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& what);

}  // namespace sumac::tools
