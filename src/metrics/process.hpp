#pragma once
// Processor time, memory, open descriptors and the start of this process, under the names that Prometheus' own clients
// give them.
#include "metrics/page.hpp"

namespace sumac::metrics {

/// Appends them. A number that the system does not tell is left out.
void add_process(Page& page);

}  // namespace sumac::metrics
