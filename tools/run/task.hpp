#pragma once
// Finds out whether a launcher (srun, mpirun) started this process, as one of several tasks of a job. Pure.
#include <optional>
#include <string>
#include <vector>

namespace sumac::tools {

struct Task {
  unsigned index = 0, count = 0;
  std::string launcher;  ///< "srun", or "the MPI launcher".
  bool operator==(const Task&) const = default;
};

/// Nothing if this process is the only task, or no launcher's.
std::optional<Task> task_of(const std::vector<std::string>& environment);

}  // namespace sumac::tools
