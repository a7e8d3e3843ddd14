#pragma once
// The output of `sumac fabric bounds`.
#include <string>

#include "cost/bounds.hpp"

namespace sumac::tools {

/// Prints the table for users.
void print_bounds(const std::string& name, const cost::WaysFabric& ways);
/// Prints JSON for programs: {"tree": {"fixed_s": 0.1, "per_byte_s": 1e-9}, "ring": ..., "kinds": {"bcast": {"tree": ...,
/// "own": ...}}}.
void print_bounds_json(const std::string& name, const cost::WaysFabric& ways);

}  // namespace sumac::tools
