#pragma once
// The command lines of a measurement. Pure.
#include <string>
#include <vector>

#include "tools/bench/request.hpp"
#include "tools/run/launcher_words.hpp"

namespace sumac::tools::bench {

struct Places {
  std::string sumac;            ///< The path of this program.
  std::string program;          ///< sumac-bench of the launcher's MPI.
  std::string lab;              ///< The name of the lab that is up, or empty.
  std::string lab_level = "3";  ///< HCOLL_ENABLE_SHARP of the ranks with Sumac in a lab.
  bool crowded = false;         ///< More ranks than cores on this host.
};

enum class Side { with, without };

/// The words after `sumac` that start the benchmark once. `json`: a line of JSON for each row, instead of a table.
std::vector<std::string> command_of(const Request& request, const Places& places, LauncherFamily family, Side side,
                                    bool json);

}  // namespace sumac::tools::bench
