#pragma once
// A campaign runs many seeds in several processes; a second kind runs them with one guard switched off at a time.
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/world.hpp"

namespace sumac::sim {

/// A world with seeds, and the conditions in it that can be switched off one by one.
struct Suite {
  const char* option;  ///< It makes sumac-seeds repeat a seed of this world.
  Report (*run)(std::uint64_t seed, int verbose);
  std::string (*describe)(std::uint64_t seed);  ///< The plan of a seed.
  const char* conditions;                       ///< The word for them.
  std::size_t condition_count;
  void (*switch_off)(int condition);
  const char* (*name)(std::size_t condition);
  const char* (*sentence)(std::size_t condition);  ///< It says what the condition keeps right.
};
const Suite& tree_suite();      ///< Groups on a tree, and the guards of src/proto/guard.hpp.
const Suite& recovery_suite();  ///< Groups that lose their tree, and the rules of src/proto/recovery_rule.hpp.
const Suite& hop_suite();       ///< Groups with the datagram way, and the rules of src/hop/rule.h.
const Suite& job_suite();       ///< The same in a job, whose trees come from a manager.

struct CampaignOptions {
  std::uint64_t first = 1, count = 1250;
  std::uint32_t jobs = 1;
  const Suite* suite = &tree_suite();
};

/// Runs the seeds, prints each failure with the command that repeats it, then the totals and the coverage of the
/// machines. Returns the number of seeds that failed.
std::uint64_t run_campaign(const CampaignOptions& options);

/// A seed that has failed without this condition: the check tries it before all others. 0: its first one is soon found.
std::uint64_t noticed_at(std::string_view condition);

/// Finds for each condition a seed that fails without it. Prints a table; returns the number of conditions whose
/// removal no seed noticed.
std::uint32_t check_mutations(const CampaignOptions& options, std::uint64_t count_max);

}  // namespace sumac::sim
