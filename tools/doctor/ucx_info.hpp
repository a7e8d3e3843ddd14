#pragma once
// Reads what UCX's program `ucx_info -v -d` prints. Pure.
#include <string_view>

#include "tools/doctor/facts.hpp"

namespace sumac::tools::doctor {

/// The version, and each transport with its devices in the order of the text. A text of another form gives what it has.
Ucx parse_ucx_info(std::string_view text);

}  // namespace sumac::tools::doctor
