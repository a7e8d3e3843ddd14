#pragma once
// What sharp_am says of itself: the JSON of its Status call.
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"

namespace sumac::tools {

/// Errc::lost, timeout: no manager at `endpoint` (ADDR:PORT or unix:PATH).
Result<nlohmann::json> ask_manager(const std::string& endpoint);

/// Where the manager probably is: SUMAC_HOSTD_MANAGER, else what `sumac up` started, else sharp_am's own default.
std::string manager_of_environment();

}  // namespace sumac::tools
