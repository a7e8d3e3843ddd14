#pragma once
// Quantities with their unit, in the form that people write in a fabric file. A number without a unit is refused
// (except 0), so that no one has to guess.
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace sumac {

Result<std::int64_t> parse_delay_ns(std::string_view text);          ///< "500us", "1.5ms", "0"
Result<std::uint64_t> parse_rate_bits_per_s(std::string_view text);  ///< "200Mbit/s", "1Gbit/s"; "0": no limit
Result<std::uint64_t> parse_size_bytes(std::string_view text);       ///< "32MiB", "64KiB", "9000B"

}  // namespace sumac
