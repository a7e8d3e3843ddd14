#pragma once
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "topo/fabric.hpp"

namespace sumac {

/// Reads and validates a fabric file (docs/fabric.md), YAML or what ibnetdiscover printed: its first line tells which.
/// Errors begin with "FILE:LINE: " where a line is to blame.
Result<topo::Fabric> load_fabric(const std::string& path);

/// The same from text; `name` stands for the file in errors.
Result<topo::Fabric> parse_fabric(const std::string& text, std::string_view name);

}  // namespace sumac
