#pragma once
// Creates a file with exactly these bytes and this mode: completely or not at all, and never over an existing file.
#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace sumac::tools {

/// Errc::exists if the name is in use. The bytes are on disk when it returns.
Result<> create_file(const std::string& path, std::string_view text, mode_t mode);

}  // namespace sumac::tools
