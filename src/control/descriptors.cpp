#include "control/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace sumac::control {

std::size_t descriptors_for_strangers(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t enough = wanted + kDescriptorsKept;
  if (limit.rlim_cur < enough && limit.rlim_cur < limit.rlim_max) {
    const rlim_t raised = std::min(enough, limit.rlim_max);
    const rlimit more{raised, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit.rlim_cur = raised;
  }
  if (limit.rlim_cur >= enough) return wanted;
  // A limit this small is deliberate, so each side gets half of it.
  return limit.rlim_cur - std::min<rlim_t>(kDescriptorsKept, limit.rlim_cur / 2);
}

}  // namespace sumac::control
