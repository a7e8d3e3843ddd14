#pragma once
// The numbers that members contribute, and what must come out, computed from the inputs alone with the plain reference.
// Values are chosen so that every order of adding gives the same bits: small integers, also in floats. But for reproducible
// operations: there every order gives other bits, and the canonical one must come out.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/client_group.hpp"
#include "sim/plan.hpp"

namespace sumac::sim {

/// Operation `index` of a session, as its group rank `rank` of `size` is to post it; without the buffers.
proto::Operation make_operation(const OpPlan& op, std::uint32_t index, std::uint32_t size, std::uint32_t rank);
std::size_t element_of(const OpPlan& op) noexcept;  ///< Bytes; 0 for a barrier.

/// What this operation gives, in the session with this key.
std::vector<std::byte> make_input(const proto::Operation& operation, std::uint64_t session_key, std::uint32_t rank);
/// The whole result over ranks 0 to size - 1, of which each member keeps its part.
std::vector<std::byte> make_result(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                   std::uint32_t size);

}  // namespace sumac::sim
