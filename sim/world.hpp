#pragma once
// One seed, from connecting to the last Leave: real engines of src/proto on an unreliable virtual network, members that
// post, check and leave, and a judge that compares every result with the expected one.
#include <cstdint>
#include <string>

#include "sim/plan.hpp"

namespace sumac::sim {

struct Report {
  std::uint64_t seed = 0;
  std::string failure;           ///< The first fault; empty: everything held.
  std::string last_events;       ///< The log of the last events, for a failed seed.
  std::uint32_t operations = 0;  ///< Collective operations whose end all their members saw.
  std::uint64_t messages = 0;
  std::uint32_t groups = 0, refused = 0, verdicts = 0;
  std::uint32_t returns = 0;    ///< Times that a group went on on another tree.
  std::uint64_t datagrams = 0;  ///< Numbers that went as datagrams.
  double virtual_seconds = 0;
};

/// verbose 1: more of the last events on failure; 2: prints every event as it happens.
Report run_seed(std::uint64_t seed, int verbose = 0);

}  // namespace sumac::sim
