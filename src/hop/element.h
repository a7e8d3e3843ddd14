#pragma once
// Reductions in integer instructions only: the kernel's receive path has no floating point. The bits are those of
// src/reduce: sums round to nearest even, each NaN becomes the canonical one, and -0 is less than +0.
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Can hop_combine() perform it? `op` and `dtype` are numbers of base/types.hpp: MIN, MAX and SUM of every type, logical
/// and bitwise operations of integers.
bool hop_combines(uint32_t op, uint32_t dtype);

/// Returns `a op b` for each of the elements that 8 bytes hold: eight of one byte, or one of eight. `op` and `dtype` must
/// be a pair that hop_combines() takes; others give some number.
uint64_t hop_combine(uint32_t op, uint32_t dtype, uint64_t a, uint64_t b);

#ifdef __cplusplus
}
#endif
