#pragma once
// Runs a piece of this program in child processes, for what may hang or crash: a name service that does not answer, a
// driver's library. Call it before any thread is started.
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace sumac::tools::doctor {

struct ChildAnswer {
  std::string text;    ///< As much as the child wrote, at most 1 MiB.
  bool ended = false;  ///< It ended by itself, in time, with status 0.
};

/// Runs all tasks at once; each writes its answer to the descriptor. A child that has not ended within `limit` is
/// killed.
std::vector<ChildAnswer> in_children(const std::vector<std::function<void(int fd)>>& tasks, Duration limit);

}  // namespace sumac::tools::doctor
