#pragma once
#include <string>

#include "base/result.hpp"

namespace sumac {

/// A whole file that a person wrote or a tool printed; `what` names it in errors. Larger than any honest one: refused.
Result<std::string> read_file(const std::string& path, std::string_view what);

}  // namespace sumac
