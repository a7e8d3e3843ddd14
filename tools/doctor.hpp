#pragma once
// `sumac doctor`: each check looks at one thing and says how it is and what to do about it.
#include <string>
#include <vector>

#include "tools/commands.hpp"

namespace sumac::tools {

enum class Health {
  well,
  note,
  bad
};  ///< note: works, but slower or with less; bad: something people expect does not work.

struct Finding {
  std::string subject;  ///< "/dev/shm"
  Health health = Health::well;
  std::string found;   ///< "64 MiB free"
  std::string remedy;  ///< What to do; empty where nothing needs doing.
};

/// Processors, limits, shared memory, single copy, clock.
std::vector<Finding> examine_machine();
/// Network devices, MPI and its component, sharpd, the manager at `manager` (ADDR:PORT or unix:PATH).
std::vector<Finding> examine_services(const std::string& manager);

}  // namespace sumac::tools
