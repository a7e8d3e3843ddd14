#include "cost/fit.hpp"

#include <algorithm>

namespace sumac::cost {
namespace {

constexpr double kLeastMessage = 0.2e-6, kLeastTrip = 1e-6, kLeastByte = 1e-12;

}  // namespace

Machine fitted(const Timings& timings) {
  const std::uint32_t n = timings.members;
  const double bytes = ring_of_blocks(n, timings.block).bytes, messages = exchange(n, 0).messages;
  Machine machine;
  machine.trip_s = std::max(kLeastTrip, timings.barrier_in_rounds / rounds(n));
  machine.message_s =
      messages > 0 ? std::max(kLeastMessage, (timings.barrier_at_once - machine.trip_s) / messages) : kLeastMessage;
  // A ring announces its blocks: one trip more than its steps.
  machine.per_byte_s = timings.ring ? std::max(kLeastByte, (*timings.ring - n * machine.trip_s) / bytes)
                                    : byte_seconds(static_cast<double>(timings.rate_bits_per_s));
  machine.mesh_byte_s =
      std::max(machine.per_byte_s, (timings.mesh - 2 * machine.trip_s - messages * machine.message_s) / bytes);
  machine.short_byte_s =
      std::max(machine.per_byte_s, (timings.doubling_of_longest / rounds(n) - machine.trip_s) / timings.longest);
  return machine;
}

}  // namespace sumac::cost
