#pragma once
// The plain numbers of bounds.hpp are read here from a fabric and the trees of a job on it.
#include <span>

#include "cost/bounds.hpp"
#include "topo/job_tree.hpp"

namespace sumac::topo {

/// `jobs[i]` belongs to `trees[i]`; all are for the same hosts.
cost::WaysFabric ways_fabric(const Fabric& fabric, std::span<const AggregationTree> trees,
                             std::span<const JobTree> jobs);

}  // namespace sumac::topo
