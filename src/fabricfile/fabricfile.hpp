#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac {

/// Reads and validates a fabric file (docs/fabric.md): YAML, or the output of ibnetdiscover, which its first line
/// reveals. Errors begin with "FILE:LINE: " if they concern a line.
Result<topo::Fabric> load_fabric(const std::string& path);

/// The same for a text; errors call it `name`.
Result<topo::Fabric> parse_fabric(const std::string& text, std::string_view name);

}  // namespace sumac
