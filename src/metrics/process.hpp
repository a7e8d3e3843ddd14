#pragma once
// Processor time, memory, open descriptors and the start of this process, under the names that Prometheus' own clients
// give them.
#include <ctime>
#include <optional>

#include "metrics/page.hpp"

namespace sumac::metrics {

/// Appends them, and when the daemon's certificate for its own connections ends, if it has one. A number that the system does not tell
/// is left out.
void add_process(Page& page, std::optional<std::time_t> certificate_end);

}  // namespace sumac::metrics
