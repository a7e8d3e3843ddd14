#pragma once
// Addresses of unix sockets at a path.
#include <sys/un.h>

#include <string>

#include "base/result.hpp"

namespace sumac {

/// Errc::invalid: the path does not fit (107 bytes).
Result<sockaddr_un> unix_address(const std::string& path);

}  // namespace sumac
