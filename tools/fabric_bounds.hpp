#pragma once
// The table of `sumac fabric bounds`.
#include <span>

#include "topo/job_tree.hpp"
#include "topo/tree.hpp"

namespace sumac::tools {

void print_bounds(const topo::Fabric& fabric, std::span<const topo::AggregationTree> built,
                  std::span<const topo::JobTree> jobs);

}  // namespace sumac::tools
