#pragma once
// A file of exactly these bytes and this mode, whole or not at all, and never one that was there before.
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac::tools {

/// Errc::exists if something has that name already. On disk when it returns.
Result<> create_file(const std::string& path, std::string_view text, mode_t mode);

}  // namespace sumac::tools
