#pragma once
// Measures the time that a cache line takes from one core to another and back: the unit of everything that happens
// inside a host. A virtual machine may change it under a running program by a factor of four, so benchmarks print it
// beside their numbers.
#include <cstdint>

#include "base/result.hpp"

namespace sumac::machine {

/// Returns the nanoseconds of one round trip between two cpus (kernel numbers): the least of five batches of `rounds`.
/// It starts, pins and joins two threads. It fails if they cannot be pinned there or need more than two seconds, as on
/// a machine that is far too busy.
Result<double> cache_line_round_trip_ns(std::int32_t cpu_a, std::int32_t cpu_b, std::uint32_t rounds = 20000);

}  // namespace sumac::machine
