#pragma once
// Chooses how Sumac gets into the processes of a command: by the component of Open MPI 4.1, or by the interposed library
// of the program's ABI, which LD_PRELOAD loads. Pure: a function of the command as it was looked at and of what is
// installed.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/run/program.hpp"

namespace sumac::tools {

struct Installed {
  std::string libraries;          ///< The folder of our libraries, <prefix>/lib.
  std::vector<MpiAbi> abis;       ///< Those whose interposed library is there.
  bool component = false;         ///< Our component is there, and the Open MPI on the PATH is the 4.1 that it is for.
  std::string other_component;    ///< That Open MPI's own component of the same name, `hcoll`; empty: it has none.
  std::string open_mpi_library;   ///< That Open MPI's libmpi.so.40, links resolved.
  std::string open_mpi_programs;  ///< The folder of its programs, links resolved.
};

struct Choice {
  enum class Way { nothing, component, library };
  Way way = Way::nothing;
  std::string library;                ///< The interposed library's path; empty: another way.
  std::string reason;                 ///< One line for SUMAC_EXPLAIN=1; empty: a warning says it already.
  std::vector<std::string> warnings;  ///< Each says why a person gets less than they may expect.
};

/// The file name of the interposed library for an ABI.
std::string interposed_library(MpiAbi abi);

/// `off`: SUMAC_ENABLE=0.
Choice choose(const LookedAt& looked, const Installed& installed, bool off);

/// Puts a library in front of those that LD_PRELOAD names already, but behind the runtime of a sanitizer.
std::string preload_before(const std::string& library, const std::string& others);

/// Returns whether a libmpi.so.40, links resolved, is Open MPI 4.1's, by the number that libtool gave it (40.30.N for 4.1.N,
/// 40.40.N for 5.0.N); nothing: its name has no such number.
std::optional<bool> is_open_mpi_41(const std::string& library);

/// Asks the machine: which of our libraries are there, and which Open MPI `ompi_info` belongs to.
Installed what_is_installed(const std::string& libraries, const std::vector<std::string>& environment);

}  // namespace sumac::tools
