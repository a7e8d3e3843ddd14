#pragma once
// Pins the data path's threads to processors. A pinned thread stays near its buffers' caches and its sockets'
// interrupts, and the scheduler cannot move it in the middle of a stream. Only the operator knows the right processor.
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::node {

/// Parses "2" or "0,4-7" into processors, in the order given; an empty text gives an empty list. Returns Errc::invalid
/// for any other text.
Result<std::vector<int>> parse_processors(std::string_view text);

/// Pins the calling thread of shard `index` to processors[index % size]. With an empty list it does nothing.
Result<> pin_this_thread(const std::vector<int>& processors, std::size_t index);

}  // namespace sumac::node
