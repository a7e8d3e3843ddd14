#pragma once
// The plain numbers of bounds.hpp, read off a fabric and the trees of a job on it.
#include <span>

#include "topo/bounds.hpp"
#include "topo/job_tree.hpp"

namespace sumac::topo {

/// `jobs[i]` is of `trees[i]`; all for the same hosts.
WaysFabric ways_fabric(const Fabric& fabric, std::span<const AggregationTree> trees, std::span<const JobTree> jobs);

}  // namespace sumac::topo
