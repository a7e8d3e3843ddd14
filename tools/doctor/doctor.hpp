#pragma once
// `sumac doctor`: each check looks at one subject and reports its state and the remedy.
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace sumac::tools {

enum class Health {
  well,
  note,  ///< It works, but slower or with less.
  bad    ///< Something that users expect does not work.
};

struct Finding {
  std::string subject;  ///< "/dev/shm"
  Health health = Health::well;
  std::string found;   ///< "64 MiB free"
  std::string remedy;  ///< The remedy; empty if none is needed.
};

/// Checks processors, limits, shared memory, single copy and clock.
std::vector<Finding> examine_machine();
/// Checks network devices, MPI and its component, sharpd, and the manager at `manager` (ADDR:PORT or unix:PATH).
std::vector<Finding> examine_services(const std::string& manager);

}  // namespace sumac::tools
