#pragma once
// The numbers that members contribute, and what must come out, computed from the inputs alone with the plain reference.
// Values are chosen so that every order of adding gives the same bits: small integers, also in floats.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/plan.hpp"

namespace sumac::sim {

std::size_t bytes_of(const OpPlan& op) noexcept;
/// What group rank `rank` contributes to operation `index` of the session with this key.
std::vector<std::byte> make_input(const OpPlan& op, std::uint64_t session_key, std::uint32_t index, std::uint32_t rank);
/// The result over ranks 0 to size - 1.
std::vector<std::byte> make_expected(const OpPlan& op, std::uint64_t session_key, std::uint32_t index,
                                     std::uint32_t size);

}  // namespace sumac::sim
