#pragma once
// The numbers that members contribute, and the expected results, computed from the inputs alone with the plain
// reference. Values are chosen so that every order of adding gives the same bits: small integers, also in floats.
// Reproducible operations are the exception: every order gives other bits, and the canonical ones are expected.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/client_group.hpp"
#include "sim/plan.hpp"

namespace sumac::sim {

/// Makes operation `index` of a session as its group rank `rank` of `size` posts it; without the buffers.
proto::Operation make_operation(const OpPlan& op, std::uint32_t index, std::uint32_t size, std::uint32_t rank);
std::size_t element_of(const OpPlan& op) noexcept;  ///< Returns the bytes of one element; 0 for a barrier.

/// Makes the input of this operation in the session with this key.
std::vector<std::byte> make_input(const proto::Operation& operation, std::uint64_t session_key, std::uint32_t rank);
/// Returns the whole result over ranks 0 to size - 1, of which each member keeps its part.
std::vector<std::byte> make_result(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                   std::uint32_t size);

}  // namespace sumac::sim
