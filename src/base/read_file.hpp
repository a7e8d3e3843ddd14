#pragma once
#include <string>

#include "base/result.hpp"

namespace sumac {

/// Reads a whole file that a person wrote or a tool printed; `what` names it in errors. A file that is larger than any
/// real one is refused.
Result<std::string> read_file(const std::string& path, std::string_view what);

}  // namespace sumac
