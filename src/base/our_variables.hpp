#pragma once
// Assigns each variable of the environment that begins with SUMAC_, SHARP_COLL_ or HCOLL_ to a program. Each program
// has its own table of options (options.hpp) and also sees the variables of other programs. So the program for which a
// mistyped variable was meant warns of it, and no program warns of a correct variable of another one.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"

namespace sumac {

/// A variable that is in no option table, because it is read before there is a table, or by a script.
struct LooseVariable {
  std::string_view name;
  std::string_view doc;
};
std::span<const LooseVariable> loose_variables();

/// The options of libsharp_coll that begin with neither SHARP_COLL_ nor SUMAC_COLL_. Daemons see them where `sumac run`
/// starts both.
std::span<const std::string_view> client_variables();

/// The options of src/team, and of the MPI component around it, that begin with neither SUMAC_SHM_ nor SUMAC_TEAM_.
std::span<const std::string_view> team_variables();

/// Returns SUMAC_AM_, SUMAC_NODE_, SUMAC_HOSTD_, SUMAC_COLL_, SUMAC_SHM_ and SUMAC_TEAM_: each prefix belongs to one
/// program, which knows all names that begin with it.
std::span<const std::string_view> program_prefixes();

/// Returns the variables of the environment that a program should warn of: those with one of its `prefixes` that
/// `known` lacks, and those with no program's prefix that nearly equal one of `known` (SUMAC_NOD_NAME). The prefix
/// "SUMAC_" stands for all names that belong to no other program.
std::vector<UnknownName> unknown_variables(std::span<const std::string> known,
                                           std::span<const std::string_view> prefixes);

}  // namespace sumac
