#pragma once
// Inside this folder only: where reduce.cpp finds its functions.
#include "reduce/reduce.hpp"

namespace sumac::reduce::detail {

/// All but MINLOC and MAXLOC; legal(dtype, op) holds. For the best instruction set of this processor.
Kernel::Function simd_kernel(Op op, Dtype dtype) noexcept;

/// MINLOC and MAXLOC; legal(dtype, op, tag) holds.
Kernel::Function pair_kernel(Op op, Dtype dtype, Dtype tag) noexcept;

}  // namespace sumac::reduce::detail
