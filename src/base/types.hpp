#pragma once
// The twelve datatypes and twelve operations of the SHARP interface, with its numbers (which travel on the wire and
// through the C ABI), and their legal combinations. The page of types (docs/reference.md) is made from legal().
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sumac {

enum class Dtype : std::uint8_t {
  uint32 = 0,
  int32 = 1,
  uint64 = 2,
  int64 = 3,
  float32 = 4,
  float64 = 5,
  uint16 = 6,
  int16 = 7,
  float16 = 8,   ///< IEEE half precision, 16 bits.
  bfloat16 = 9,  ///< The upper 16 bits of a float32.
  uint8 = 10,
  int8 = 11,
  null = 12,  ///< No type: a terminator, a barrier, or "no tag type".
};
inline constexpr std::uint8_t kDtypeCount = 12;

enum class Op : std::uint8_t {
  max = 0,
  min = 1,
  sum = 2,
  prod = 3,
  land = 4,
  band = 5,
  lor = 6,
  bor = 7,
  lxor = 8,
  bxor = 9,
  maxloc = 10,
  minloc = 11,
  null = 12,  ///< No operation: a barrier or a broadcast.
};
inline constexpr std::uint8_t kOpCount = 12;

/// Returns lower-case names such as "float32" and "minloc", "null" for null, and "?" for any other number.
std::string_view to_string(Dtype dtype) noexcept;
std::string_view to_string(Op op) noexcept;

constexpr bool is_dtype(unsigned value) noexcept { return value < kDtypeCount; }
constexpr bool is_op(unsigned value) noexcept { return value < kOpCount; }

/// Returns the bytes of one value, or 0 for null and for an unknown number.
constexpr std::size_t width(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::uint8:
    case Dtype::int8: return 1;
    case Dtype::uint16:
    case Dtype::int16:
    case Dtype::float16:
    case Dtype::bfloat16: return 2;
    case Dtype::uint32:
    case Dtype::int32:
    case Dtype::float32: return 4;
    case Dtype::uint64:
    case Dtype::int64:
    case Dtype::float64: return 8;
    case Dtype::null: return 0;
  }
  return 0;
}

constexpr bool is_float(Dtype dtype) noexcept {
  return dtype == Dtype::float16 || dtype == Dtype::bfloat16 || dtype == Dtype::float32 || dtype == Dtype::float64;
}
constexpr bool is_integer(Dtype dtype) noexcept { return width(dtype) != 0 && !is_float(dtype); }

/// MINLOC and MAXLOC work on pairs (value, tag).
constexpr bool is_pair(Op op) noexcept { return op == Op::minloc || op == Op::maxloc; }

/// True if the operation is legal for the type. Integers take all; floats take MIN, MAX, SUM, PROD, MINLOC and MAXLOC.
constexpr bool legal(Dtype dtype, Op op) noexcept {
  if (width(dtype) == 0 || !is_op(static_cast<unsigned>(op))) return false;
  if (is_integer(dtype)) return true;
  return op == Op::min || op == Op::max || op == Op::sum || op == Op::prod || is_pair(op);
}

/// The layout of a pair: the tag begins `tag_at` bytes behind the value's begin, and the whole pair has `bytes` bytes.
struct PairLayout {
  std::size_t tag_at, bytes;
};

/// A pair has one of two layouts:
///   - with a tag type: the value, then directly a tag of that type, without padding;
///   - with Dtype::null (packet version 0): that of C's struct of a value and an int, which MPI_SHORT_INT, MPI_2INT,
///     MPI_FLOAT_INT, MPI_LONG_INT and MPI_DOUBLE_INT have in memory.
constexpr PairLayout pair_layout(Dtype value, Dtype tag) noexcept {
  if (tag != Dtype::null) return {width(value), width(value) + width(tag)};
  const std::size_t slot = width(value) < sizeof(std::int32_t) ? sizeof(std::int32_t) : width(value);
  return {slot, 2 * slot};
}

/// A tag is an integer, or a floating-point number of the value's own type, as in Fortran's MPI_2REAL and
/// MPI_2DOUBLE_PRECISION; null means a 32-bit signed integer.
constexpr bool is_tag(Dtype tag, Dtype value) noexcept {
  return tag == Dtype::null || is_integer(tag) || (tag == value && width(tag) >= sizeof(float));
}

/// The same as legal() above with the tag's type, which matters for pairs only.
constexpr bool legal(Dtype dtype, Op op, Dtype tag) noexcept {
  return legal(dtype, op) && (!is_pair(op) || is_tag(tag, dtype));
}

/// Returns the bytes of one element of an operation's vector, or 0 if the combination is not legal.
constexpr std::size_t element_bytes(Dtype dtype, Op op, Dtype tag = Dtype::null) noexcept {
  if (!legal(dtype, op, tag)) return 0;
  return is_pair(op) ? pair_layout(dtype, tag).bytes : width(dtype);
}

}  // namespace sumac
