#pragma once
// Cases that other programs measure.
#include <string>

#include "base/result.hpp"
#include "bench/control/report.hpp"

namespace sumac::bench {

/// Runs `program` and shows its output; the last line is its case, in JSON.
Result<> run_case(const std::string& program, Report& report);

/// Runs the test of the log lines: a file that differs is a violation.
Result<> golden_lines(const std::string& program, Report& report);

}  // namespace sumac::bench
