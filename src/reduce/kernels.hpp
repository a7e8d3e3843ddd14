#pragma once
// This header belongs to src/reduce alone: reduce.cpp gets its functions here.
#include "reduce/reduce.hpp"

namespace sumac::reduce::detail {

/// Returns the kernel for the best instruction set of this processor, for all operations but MINLOC and MAXLOC;
/// legal(dtype, op) must hold.
Kernel::Function simd_kernel(Op op, Dtype dtype) noexcept;

/// Returns the kernel for MINLOC and MAXLOC; legal(dtype, op, tag) must hold.
Kernel::Function pair_kernel(Op op, Dtype dtype, Dtype tag) noexcept;

}  // namespace sumac::reduce::detail
