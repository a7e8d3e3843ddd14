#pragma once
// Has a process of this host ended? A zombie, whose parent has not looked yet, has. For a rank that has waited long.
#include <cstdint>

namespace sumac::python {

/// False also where nobody can know: `pid` 0, or a kernel without pidfd.
bool has_ended(std::int64_t pid);

}  // namespace sumac::python
