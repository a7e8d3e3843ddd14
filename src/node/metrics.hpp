#pragma once
// The metrics of a node, from the numbers of its trees. The page metrics-list.md is made from them.
#include <span>
#include <string_view>

#include "metrics/page.hpp"
#include "node/data_path.hpp"

namespace sumac::node {

metrics::Page metrics_page(std::string_view name, bool registered, std::span<const TreeNumbers> trees);

}  // namespace sumac::node
