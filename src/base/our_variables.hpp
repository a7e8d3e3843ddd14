#pragma once
// Whose is a variable of the environment that begins with SUMAC_, SHARP_COLL_ or HCOLL_? Each program has a table of its own
// options (options.hpp) and sees other programs' variables beside them: here is what belongs to whom, so that a mistyped name
// is a warning of the program it was meant for, and a right one of another program is none.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"

namespace sumac {

/// A variable that no option table holds: it is read before there is a table, or by a script.
struct LooseVariable {
  std::string_view name;
  std::string_view doc;
};
std::span<const LooseVariable> loose_variables();

/// Options of libsharp_coll that do not begin with SHARP_COLL_ or SUMAC_COLL_: daemons see them where `sumac run` starts both.
std::span<const std::string_view> client_variables();

/// Options of src/team, and of the MPI component around it, that begin with neither SUMAC_SHM_ nor SUMAC_TEAM_.
std::span<const std::string_view> team_variables();

/// "SUMAC_AM_", "SUMAC_NODE_", "SUMAC_HOSTD_", "SUMAC_COLL_", "SUMAC_SHM_", "SUMAC_TEAM_": each belongs to one program, which knows all names with it.
std::span<const std::string_view> program_prefixes();

/// The variables of the environment that a program should warn of: those with one of its `prefixes` which `known` lacks, and
/// those with nobody's prefix that are nearly one of `known` (SUMAC_NOD_NAME). "SUMAC_" as a prefix: all that are nobody else's.
std::vector<UnknownName> unknown_variables(std::span<const std::string> known,
                                           std::span<const std::string_view> prefixes);

}  // namespace sumac
