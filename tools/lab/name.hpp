#pragma once
#include <optional>
#include <string>

#include "tools/commands.hpp"

namespace sumac::tools {

/// Removes a leading `--name N` and returns N; without one, returns SUMAC_LAB. Nothing: use the only lab that is up.
std::optional<std::string> take_name(Arguments& arguments);

}  // namespace sumac::tools
