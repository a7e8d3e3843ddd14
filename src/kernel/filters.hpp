#pragma once
// Asks the kernel for the filters of a device, by route netlink: libbpf can only ask for one whose handle is known.
#include "base/result.hpp"

namespace sumac::kernel {

/// Returns how many filters stand at the device's clsact, in both directions.
Result<int> filters_of(int device);

}  // namespace sumac::kernel
