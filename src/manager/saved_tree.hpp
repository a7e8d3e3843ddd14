#pragma once
// Trees and the shares of jobs as lists of numbers, for the journal. The reader trusts nothing: an index outside the
// fabric, a loop or a truncated list gives no result.
#include <optional>
#include <span>
#include <vector>

#include "manager/journal.hpp"
#include "topo/fabric.hpp"
#include "topo/job_tree.hpp"
#include "topo/tree.hpp"

namespace sumac::manager {

std::vector<std::uint32_t> shape_of(const topo::AggregationTree& tree);
/// The rates are taken from the fabric, and the caller sets the tree's id.
std::optional<topo::AggregationTree> tree_of(std::span<const std::uint32_t> shape, const topo::Fabric& fabric);

/// The hosts and shares of a record, as numbers.
std::vector<std::uint32_t> numbers_of(const JobRecord& job);
Result<> read_numbers(std::span<const std::uint32_t> numbers, JobRecord& job);

/// Converts a share into topo's form.
topo::JobTree job_tree_of(const JobShare& share, const std::vector<std::uint32_t>& hosts);
JobShare share_of(const topo::JobTree& job, std::uint32_t tree, TreeId id);

/// Lists every name and every link of a fabric, in order: two fabrics with equal texts have the same indices.
std::string text_of(const topo::Fabric& fabric);

}  // namespace sumac::manager
