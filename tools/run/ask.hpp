#pragma once
// Asks a program a question: runs it with its output caught and its time bounded.
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace sumac::tools {

/// Returns what `command` printed on stdout and stderr, at most 64 KiB of it. `command[0]` is a path. Errc::timeout: it
/// did not end in time and was killed. Its exit status is not judged: `--version` fails in some launchers.
Result<std::string> ask(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                        Duration within_time);

}  // namespace sumac::tools
