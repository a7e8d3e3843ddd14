#pragma once
// The metrics of the manager. docs/metrics.md lists them. They have totals only, and no name of a user, host or job:
// whoever may scrape them sees no more than every user may.
#include "manager/service.hpp"
#include "metrics/page.hpp"

namespace sumac::manager {

metrics::Page metrics_page(const Service::Numbers& numbers);

}  // namespace sumac::manager
