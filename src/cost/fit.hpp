#pragma once
// Finds a machine's figures from what its members have timed: the methods of method.hpp solved for them.
#include <cstdint>
#include <optional>

#include "cost/method.hpp"

namespace sumac::cost {

/// Times in seconds, of the same members.
struct Timings {
  std::uint32_t members = 2;
  double barrier_in_rounds = 0, barrier_at_once = 0;
  std::uint64_t rate_bits_per_s = 0;  ///< 0: the interface of a member's link does not say it, so `ring` counts.
  double block = 0;                   ///< Bytes of one member's block in the next two.
  std::optional<double> ring;         ///< An allgather by the ring.
  double mesh = 0;                    ///< An allgather by an exchange.
  double longest = 0;                 ///< Bytes of the longest message that nobody asks for.
  double doubling_of_longest = 0;     ///< An allreduce of so many bytes by doubling.
};

/// No figure is below what a clock can tell apart. Adding and waking are part of the trip and the bytes here.
Machine fitted(const Timings& timings);

}  // namespace sumac::cost
