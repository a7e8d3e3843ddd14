#pragma once
// Makes the address of a unix socket at a path.
#include <sys/un.h>

#include <string>

#include "base/result.hpp"

namespace sumac {

/// Returns Errc::invalid if the path does not fit (107 bytes).
Result<sockaddr_un> unix_address(const std::string& path);

}  // namespace sumac
