#pragma once
// Short texts that several parts of the core make.
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace sumac::manager {

inline std::string join(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace sumac::manager
