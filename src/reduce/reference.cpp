#include "reduce/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/float_env.hpp"

namespace sumac::reduce {
namespace {

struct Format {
  int mantissa_bits, exponent_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int exponent_all() const { return (1 << exponent_bits) - 1; }
};
constexpr Format kHalf{10, 5}, kBrain{7, 8};

double value_of(Format f, std::uint16_t bits) {
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const int exponent = bits >> f.mantissa_bits & f.exponent_all();
  double magnitude;
  if (exponent == f.exponent_all())
    magnitude = mantissa == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - f.bias() - f.mantissa_bits);
  else
    magnitude = std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias() - f.mantissa_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::uint16_t nearest(Format f, double value) {
  const int infinity = f.exponent_all() << f.mantissa_bits;
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | 1 << (f.mantissa_bits - 1));
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  const int exponent = magnitude == 0 ? 1 - f.bias() : std::max(std::ilogb(magnitude), 1 - f.bias());
  // The value is counted in units of the last place; nearbyint rounds ties to even. When the units are added to the
  // exponent's bits, a carry does the right thing by itself: subnormal to normal, into the next power of two, beyond
  // the largest into infinity.
  const auto units = static_cast<long>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  const long bits = ((long{exponent} + f.bias() - 1) << f.mantissa_bits) + units;
  return static_cast<std::uint16_t>(sign | std::min<long>(bits, infinity));
}

template <class T>
T get(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Returns the IEEE 754 minimum (and maximum, by the signs): NaN wins, -0 is less than +0.
template <class F>
F minimum(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class F>
F float_result(Op op, F a, F b) {
  F result{};
  switch (op) {
    case Op::sum: result = a + b; break;
    case Op::prod: result = a * b; break;
    case Op::min: result = minimum(a, b); break;
    case Op::max: result = -minimum(-a, -b); break;
    default: std::abort();
  }
  return std::isnan(result) ? std::numeric_limits<F>::quiet_NaN() : result;
}

template <class I>
I integer_result(Op op, I a, I b) {
  using U = std::make_unsigned_t<I>;
  using Wide = unsigned long long;  // arithmetic wraps, and truncation to I is modulo 2^n
  const auto x = static_cast<Wide>(static_cast<U>(a)), y = static_cast<Wide>(static_cast<U>(b));
  switch (op) {
    case Op::max: return a > b ? a : b;
    case Op::min: return a < b ? a : b;
    case Op::sum: return static_cast<I>(x + y);
    case Op::prod: return static_cast<I>(x * y);
    case Op::band: return static_cast<I>(x & y);
    case Op::bor: return static_cast<I>(x | y);
    case Op::bxor: return static_cast<I>(x ^ y);
    case Op::land: return a && b;
    case Op::lor: return a || b;
    case Op::lxor: return !a != !b;
    default: std::abort();
  }
}

/// Applies a plain operation to one element, in place in `a`.
void element(Op op, Dtype dtype, void* a, const void* b) {
  const auto integer = [&]<class I>(I) {
    const I result = integer_result<I>(op, get<I>(a), get<I>(b));
    std::memcpy(a, &result, sizeof result);
  };
  const auto native = [&]<class F>(F) {
    const F result = float_result<F>(op, get<F>(a), get<F>(b));
    std::memcpy(a, &result, sizeof result);
  };
  // In double a sum or product of two such numbers is exact, or (bfloat16 sums of very different magnitudes) has more
  // than twice the format's bits, so that rounding a second time changes nothing.
  const auto small = [&](Format f) {
    const double result =
        float_result<double>(op, value_of(f, get<std::uint16_t>(a)), value_of(f, get<std::uint16_t>(b)));
    const std::uint16_t bits = nearest(f, result);
    std::memcpy(a, &bits, sizeof bits);
  };
  switch (dtype) {
    case Dtype::uint8: return integer(std::uint8_t{});
    case Dtype::int8: return integer(std::int8_t{});
    case Dtype::uint16: return integer(std::uint16_t{});
    case Dtype::int16: return integer(std::int16_t{});
    case Dtype::uint32: return integer(std::uint32_t{});
    case Dtype::int32: return integer(std::int32_t{});
    case Dtype::uint64: return integer(std::uint64_t{});
    case Dtype::int64: return integer(std::int64_t{});
    case Dtype::float32: return native(float{});
    case Dtype::float64: return native(double{});
    case Dtype::float16: return small(kHalf);
    case Dtype::bfloat16: return small(kBrain);
    case Dtype::null: std::abort();
  }
}

/// Returns -1, 0 or 1 when a comes before, with or after b in ascending order; the caller handles NaN.
int compare(Dtype dtype, const void* a, const void* b) {
  const auto by = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  switch (dtype) {
    case Dtype::uint8: return by(get<std::uint8_t>(a), get<std::uint8_t>(b));
    case Dtype::int8: return by(get<std::int8_t>(a), get<std::int8_t>(b));
    case Dtype::uint16: return by(get<std::uint16_t>(a), get<std::uint16_t>(b));
    case Dtype::int16: return by(get<std::int16_t>(a), get<std::int16_t>(b));
    case Dtype::uint32: return by(get<std::uint32_t>(a), get<std::uint32_t>(b));
    case Dtype::int32: return by(get<std::int32_t>(a), get<std::int32_t>(b));
    case Dtype::uint64: return by(get<std::uint64_t>(a), get<std::uint64_t>(b));
    case Dtype::int64: return by(get<std::int64_t>(a), get<std::int64_t>(b));
    case Dtype::float32: return by(get<float>(a), get<float>(b));
    case Dtype::float64: return by(get<double>(a), get<double>(b));
    case Dtype::float16: return by(float16_value(get<std::uint16_t>(a)), float16_value(get<std::uint16_t>(b)));
    case Dtype::bfloat16: return by(bfloat16_value(get<std::uint16_t>(a)), bfloat16_value(get<std::uint16_t>(b)));
    case Dtype::null: break;
  }
  std::abort();
}

bool is_nan(Dtype dtype, const void* a) {
  switch (dtype) {
    case Dtype::float32: return std::isnan(get<float>(a));
    case Dtype::float64: return std::isnan(get<double>(a));
    case Dtype::float16: return std::isnan(float16_value(get<std::uint16_t>(a)));
    case Dtype::bfloat16: return std::isnan(bfloat16_value(get<std::uint16_t>(a)));
    default: return false;
  }
}

/// Floating-point tags have a total order as well: negative NaNs, numbers with -0 before +0, positive NaNs.
int compare_tags(Dtype dtype, const void* a, const void* b) {
  if (!is_float(dtype)) return compare(dtype, a, b);
  const auto by = []<class F, class Bits>(F x, F y, Bits x_bits, Bits y_bits) {
    if (std::signbit(x) != std::signbit(y)) return std::signbit(x) ? -1 : 1;
    // With the same sign the bits rise with the magnitude, and those of a NaN are above those of infinity.
    const int magnitudes = x_bits < y_bits ? -1 : x_bits > y_bits ? 1 : 0;
    return std::signbit(x) ? -magnitudes : magnitudes;
  };
  if (dtype == Dtype::float32) return by(get<float>(a), get<float>(b), get<std::uint32_t>(a), get<std::uint32_t>(b));
  return by(get<double>(a), get<double>(b), get<std::uint64_t>(a), get<std::uint64_t>(b));
}

void pair(Op op, Dtype dtype, Dtype tag, char* a, const char* b, std::size_t bytes) {
  const std::size_t tag_at = pair_layout(dtype, tag).tag_at;
  const Dtype tag_type = tag == Dtype::null ? Dtype::int32 : tag;
  const bool a_nan = is_nan(dtype, a), b_nan = is_nan(dtype, b);
  int order = 0;  // negative: pair a wins by value
  if (a_nan != b_nan)
    order = a_nan ? -1 : 1;
  else if (!a_nan)
    order = op == Op::minloc ? compare(dtype, a, b) : compare(dtype, b, a);
  if (order == 0) order = compare_tags(tag_type, a + tag_at, b + tag_at);
  if (order > 0) std::memcpy(a, b, bytes);
  // The pairs are equal in value and tag: only zeros can still differ in their bits, and min and max know which comes
  // first.
  if (order == 0 && is_float(dtype)) element(op == Op::minloc ? Op::min : Op::max, dtype, a, b);
  if (is_nan(dtype, a)) element(Op::min, dtype, a, a);  // replaces any NaN by the canonical one
  std::memset(a + width(dtype), 0, tag_at - width(dtype));
  std::memset(a + tag_at + width(tag_type), 0, bytes - tag_at - width(tag_type));
}

}  // namespace

double float16_value(std::uint16_t bits) { return value_of(kHalf, bits); }
double bfloat16_value(std::uint16_t bits) { return value_of(kBrain, bits); }
std::uint16_t float16_nearest(double value) { return nearest(kHalf, value); }
std::uint16_t bfloat16_nearest(double value) { return nearest(kBrain, value); }

void reference_reduce(Op op, Dtype dtype, Dtype tag, void* inout, const void* in, std::size_t count) {
  const FloatEnvGuard guard;
  const std::size_t bytes = element_bytes(dtype, op, tag);
  auto* a = static_cast<char*>(inout);
  const auto* b = static_cast<const char*>(in);
  for (std::size_t i = 0; i < count; ++i, a += bytes, b += bytes) {
    if (is_pair(op))
      pair(op, dtype, tag, a, b, bytes);
    else
      element(op, dtype, a, b);
  }
}

}  // namespace sumac::reduce
