#pragma once
// The time that a cache line takes from one core to another and back: the unit in which everything inside a host is
// measured. Virtual machines change it under a running program by a factor of four, so benchmarks write it beside
// their numbers.
#include <cstdint>

#include "base/result.hpp"

namespace sumac::machine {

/// Nanoseconds of one round trip between two cpus (kernel numbers): the least of five batches of `rounds`. Two threads
/// are started, pinned and joined. Fails if they cannot be pinned there or need more than two seconds, as on a machine that is far too busy.
Result<double> cache_line_round_trip_ns(std::int32_t cpu_a, std::int32_t cpu_b, std::uint32_t rounds = 20000);

}  // namespace sumac::machine
