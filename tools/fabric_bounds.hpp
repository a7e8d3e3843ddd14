#pragma once
// What `sumac fabric bounds` prints.
#include <string>

#include "topo/bounds.hpp"

namespace sumac::tools {

/// The table that people read.
void print_bounds(const std::string& name, const topo::WaysFabric& ways);
/// What a program compares with: {"tree": {"fixed_s": 0.1, "per_byte_s": 1e-9}, "ring": ...}.
void print_bounds_json(const std::string& name, const topo::WaysFabric& ways);

}  // namespace sumac::tools
