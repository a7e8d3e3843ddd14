#pragma once
#include <string>

namespace sumac {

/// Returns the kernel's number of its present boot: processes with the same one share a kernel, its clocks and its process
/// numbers, also across containers. Empty where /proc is not there.
std::string boot_id();

}  // namespace sumac
