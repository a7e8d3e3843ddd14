#pragma once
#include <unistd.h>

#include <string>

namespace sumac {

/// Returns the name of this host for people, logs and comparisons of hosts; "?" if the system has none.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "?";
}

}  // namespace sumac
