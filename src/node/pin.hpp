#pragma once
// Which processors the data path's threads run on. A thread that stays where its sockets' interrupts and its buffers' caches are is
// not moved about by the scheduler in mid-stream; which processor that is only the operator knows.
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace sumac::node {

/// "2", "0,4-7": processors in the order given. Empty: none named. Errc::invalid: not such a list.
Result<std::vector<int>> parse_processors(std::string_view text);

/// The calling thread of shard `index` gets processors[index % size], alone; without a list it stays free.
Result<> pin_this_thread(const std::vector<int>& processors, std::size_t index);

}  // namespace sumac::node
