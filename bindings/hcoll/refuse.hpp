#pragma once
// A status of the interface, and the one line that says more than it.
#pragma GCC visibility push(default)
#include <hcoll/api/hcoll_api.h>
#pragma GCC visibility pop

#include <string>

#include "base/result.hpp"
#include "rank/guarded.hpp"
#include "rank/say.h"

namespace sumac::hcoll {

/// Prints the line, each different one once in a process.
inline int refuse(int status, const std::string& line) {
  sumac_say_failure(("hcoll: " + line).c_str());
  return status;
}

template <class Use>
int guarded(Use use) noexcept {
  return rank::guarded<int>(use, HCOLL_ERR_OUT_OF_RESOURCE, HCOLL_ERROR);
}

}  // namespace sumac::hcoll
