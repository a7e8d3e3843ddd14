#pragma once
// The metrics of the manager. The page metrics-list.md is made from them. They have totals only, and no name of a user, host or job:
// whoever may scrape them sees no more than every user may.
#include "manager/facts.hpp"
#include "metrics/page.hpp"

namespace sumac::manager {

/// Counted by the service since the start.
struct Received {
  std::uint64_t messages = 0;   ///< Messages of nodes and sharpds, without renewals.
  std::uint64_t strangers = 0;  ///< Callers that nobody knows, or that are not who they claim to be.
  std::uint64_t limited = 0;    ///< Streams and calls refused because their caller has too many.
};

metrics::Page metrics_page(const Facts& facts, const Received& received);

}  // namespace sumac::manager
