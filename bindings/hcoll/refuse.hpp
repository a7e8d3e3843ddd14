#pragma once
// A status of the interface, and the one line that says more than it.
#pragma GCC visibility push(default)
#include <hcoll/api/hcoll_api.h>
#pragma GCC visibility pop

#include <new>
#include <string>

#include "base/result.hpp"
#include "rank/say.h"

namespace sumac::hcoll {

/// Prints the line, each different one once in a process.
inline int refuse(int status, const std::string& line) {
  sumac_say_failure(("hcoll: " + line).c_str());
  return status;
}

/// No exception leaves the library.
template <class Use>
int guarded(Use use) noexcept {
  try {
    return use();
  } catch (const std::bad_alloc&) {
    return HCOLL_ERR_OUT_OF_RESOURCE;
  } catch (...) {
    return HCOLL_ERROR;
  }
}

}  // namespace sumac::hcoll
