#pragma once
// The types of the interfaces that are no MPI's (UCC's, HCOLL's), with the folds of src/team for them: by a kernel of src/reduce
// where there is one, else by a function here.
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "team/team.h"

namespace sumac::rank {

enum class Value : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  int128,
  uint8,
  uint16,
  uint32,
  uint64,
  uint128,
  float16,
  float32,
  float64,
  bfloat16,
  long_double,
  complex_float,
  complex_double,
  complex_long_double,
};
inline constexpr std::size_t kValues = 18;

std::size_t element_bytes(Value value) noexcept;

/// True of reals and complex numbers, which have a mean.
bool is_divisible(Value value) noexcept;

/// Null: no such type and operation is reduced, at any rank.
const sumac_fold_t* fold_of(Value value, Op op) noexcept;

}  // namespace sumac::rank
