#pragma once
#include <optional>
#include <string>

#include "tools/commands.hpp"

namespace sumac::tools {

/// Takes a leading `--name N` off; without one, SUMAC_LAB. Nothing: the only lab that is up.
std::optional<std::string> take_name(Arguments& arguments);

}  // namespace sumac::tools
