#pragma once
// States the result of a reduction as plainly as possible: one element at a time, 16-bit floats by exact arithmetic in
// double and one rounding, nothing shared with the kernels. It is for tests, the simulator and programs that verify
// results; it is slow.
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace sumac::reduce {

/// Sets inout[i] = inout[i] op in[i]. The combination must be legal.
void reference_reduce(Op op, Dtype dtype, Dtype tag, void* inout, const void* in, std::size_t count);

/// The 16-bit formats by their definition: the value of the bits, and the bits nearest to a value (ties to even).
double float16_value(std::uint16_t bits);
double bfloat16_value(std::uint16_t bits);
std::uint16_t float16_nearest(double value);
std::uint16_t bfloat16_nearest(double value);

}  // namespace sumac::reduce
