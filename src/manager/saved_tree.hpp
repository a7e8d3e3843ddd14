#pragma once
// Trees and the shares of jobs as lists of numbers, for the journal. Reading believes nothing: an index that is not in the
// fabric, a loop, a list that is cut short gives nothing.
#include <optional>
#include <span>
#include <vector>

#include "manager/journal.hpp"
#include "topo/fabric.hpp"
#include "topo/job_tree.hpp"
#include "topo/tree.hpp"

namespace sumac::manager {

std::vector<std::uint32_t> shape_of(const topo::AggregationTree& tree);
/// Rates come from the fabric, the tree's id is the caller's.
std::optional<topo::AggregationTree> tree_of(std::span<const std::uint32_t> shape, const topo::Fabric& fabric);

/// Hosts and shares of a record.
std::vector<std::uint32_t> numbers_of(const JobRecord& job);
Result<> read_numbers(std::span<const std::uint32_t> numbers, JobRecord& job);

/// Group numbers of all shares.
std::vector<std::uint32_t> group_numbers_of(const JobRecord& job);
/// Into the shares, which are there already.
Result<> read_group_numbers(std::span<const std::uint32_t> numbers, JobRecord& job);

/// A share as topo knows it.
topo::JobTree job_tree_of(const JobShare& share, const std::vector<std::uint32_t>& hosts);
JobShare share_of(const topo::JobTree& job, std::uint32_t tree, std::uint32_t id);

/// Every name and every link of a fabric, in order: two fabrics with the same text have the same indices.
std::string text_of(const topo::Fabric& fabric);

}  // namespace sumac::manager
