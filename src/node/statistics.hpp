#pragma once
// The statistics of a whole node, put together from those of its trees (DataPath::statistics_json()). It is a header of
// its own because the JSON library takes seconds to compile: one file includes it.
#include <cstdint>
#include <span>
#include <string>

#include "base/ids.hpp"

namespace sumac::node {

struct TreeStatistics {
  std::uint32_t index;  ///< The tree's number among the trees of this fabric, from 0.
  TreeId id;
  std::string json;  ///< The text that its data path returned.
};

std::string statistics_json(const std::string& node, std::span<const TreeStatistics> trees);

}  // namespace sumac::node
