#pragma once
// A campaign runs many seeds in several processes; a second kind runs them with one guard switched off at a time.
#include <cstdint>

#include "sim/world.hpp"

namespace sumac::sim {

struct CampaignOptions {
  std::uint64_t first = 1, count = 1250;
  std::uint32_t jobs = 1;
};

/// Runs the seeds, prints each failure with the command that repeats it, then the totals and the coverage of the
/// machines. Returns the number of seeds that failed.
std::uint64_t run_campaign(const CampaignOptions& options);

/// Finds for each guard the first seed that fails without it. Prints a table; returns the number of guards whose
/// removal no seed noticed.
std::uint32_t check_mutations(std::uint64_t first, std::uint64_t count_max, std::uint32_t jobs);

}  // namespace sumac::sim
