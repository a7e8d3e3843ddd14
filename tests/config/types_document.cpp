#include <fmt/core.h>

#include "base/types.hpp"
#include "tests/config/document.hpp"

namespace sumac::tests {
namespace {

constexpr const char* kHead = R"(# Datatypes and operations

The numbers are those of the SHARP interface: they travel on the wire and through the C ABI. The table is made from `legal()` in
`src/base/types.hpp`.

)";

constexpr const char* kMeanings = R"(
`maxloc` and `minloc` work on pairs (value, tag), which lie in one of two layouts.

- A tag type is given: the value, then directly the tag, without padding. The tag is an integer of any of the eight types, or a
  number of the value's own type `float32` or `float64` (`MPI_2REAL`, `MPI_2DOUBLE_PRECISION`; the SHARP interface takes integers alone).
- No tag type (packet version 0): C's struct of the value and an `int`, so `MPI_SHORT_INT`, `MPI_2INT`, `MPI_FLOAT_INT`,
  `MPI_LONG_INT` and `MPI_DOUBLE_INT` lie in memory like this. Its padding is zero in the result.

## Rules of the operations

- Integer `sum` and `prod` wrap to the width of the type. `land`, `lor` and `lxor` give 0 or 1 of the same type.
- `float16` and `bfloat16` are added and multiplied exactly and rounded once to nearest even, at every step.
- Subnormal numbers are honoured and rounding is to nearest even, whatever the host program has set for itself (flush
  to zero, another rounding mode, trapping): it is saved before a reduction and restored after it.
- `min` and `max` on floats are IEEE 754's `minimum` and `maximum`: -0 is less than +0, and a NaN anywhere makes the
  result NaN.
- A NaN in a result is always the positive quiet NaN with no payload (`7fc00000`, `7ff8000000000000`, `7e00`, `7fc0`),
  so that its bits depend neither on the order of the operands nor on the processor.
- `minloc` and `maxloc`: of equal values the lower tag wins, as MPI says; -0 and +0 are equal here, and if their tags
  are equal too `minloc` gives -0 and `maxloc` +0. A NaN wins over every number, and of several NaNs the one with the
  lowest tag. A floating-point tag -0 is lower than +0, and a NaN as a tag is lower or higher than all numbers by its sign.

So each operation but floating-point `sum` and `prod` gives the same bits in every order of the operands.
)";

}  // namespace

std::string types_markdown() {
  std::string text = fmt::format("{}| type | number | bytes |", kHead);
  for (unsigned o = 0; o < kOpCount; ++o) text += fmt::format(" {} ({}) |", to_string(static_cast<Op>(o)), o);
  text += "\n|---|---|---|";
  for (unsigned o = 0; o < kOpCount; ++o) text += "---|";
  text += '\n';
  for (unsigned d = 0; d < kDtypeCount; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    text += fmt::format("| {} | {} | {} |", to_string(dtype), d, width(dtype));
    for (unsigned o = 0; o < kOpCount; ++o) text += legal(dtype, static_cast<Op>(o)) ? " yes |" : " no |";
    text += '\n';
  }
  return text + kMeanings;
}

}  // namespace sumac::tests
