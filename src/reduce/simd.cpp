// The element-wise kernels. Highway compiles this file once per instruction set; instruction_set.hpp chooses at run time. A vector that
// does not fill a register goes element by element, and one of small types through a copy on the stack: a partial store
// next to `out` would write into memory of another owner.
//
// A processor with less than SSE4 gets the reference itself.
//
// Two conversions are done by hand, because the same bits must result everywhere: bfloat16 (Highway 1.0.3 truncates)
// and float16 where the processor has no conversion of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/simd.cpp"
// Each target costs compile time; these two are no faster than their neighbours here.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#include <hwy/foreach_target.h>  // this include must come before highway.h
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "reduce/instruction_set.hpp"
#include "reduce/kernels.hpp"
#include "reduce/reference.hpp"

HWY_BEFORE_NAMESPACE();
namespace sumac::reduce::detail::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <Op kOp, Dtype kDtype>
void kernel(void* out, const void* a, const void* b, std::size_t count) {
  if (out == b) return kernel<kOp, kDtype>(out, b, a, count);  // the two operands may always be exchanged
  if (out != a) std::memcpy(out, a, count * width(kDtype));
  reference_reduce(kOp, kDtype, Dtype::null, out, b, count);
}

template <Op kOp>
Kernel::Function of_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8: return kernel<kOp, Dtype::uint8>;
    case Dtype::int8: return kernel<kOp, Dtype::int8>;
    case Dtype::uint16: return kernel<kOp, Dtype::uint16>;
    case Dtype::int16: return kernel<kOp, Dtype::int16>;
    case Dtype::uint32: return kernel<kOp, Dtype::uint32>;
    case Dtype::int32: return kernel<kOp, Dtype::int32>;
    case Dtype::uint64: return kernel<kOp, Dtype::uint64>;
    case Dtype::int64: return kernel<kOp, Dtype::int64>;
    case Dtype::float32: return kernel<kOp, Dtype::float32>;
    case Dtype::float64: return kernel<kOp, Dtype::float64>;
    case Dtype::float16: return kernel<kOp, Dtype::float16>;
    case Dtype::bfloat16: return kernel<kOp, Dtype::bfloat16>;
    case Dtype::null: return nullptr;
  }
  return nullptr;
}

Kernel::Function find_kernel(Op op, Dtype dtype) {
  switch (op) {
    case Op::max: return of_type<Op::max>(dtype);
    case Op::min: return of_type<Op::min>(dtype);
    case Op::sum: return of_type<Op::sum>(dtype);
    case Op::prod: return of_type<Op::prod>(dtype);
    case Op::land: return of_type<Op::land>(dtype);
    case Op::band: return of_type<Op::band>(dtype);
    case Op::lor: return of_type<Op::lor>(dtype);
    case Op::bor: return of_type<Op::bor>(dtype);
    case Op::lxor: return of_type<Op::lxor>(dtype);
    case Op::bxor: return of_type<Op::bxor>(dtype);
    default: return nullptr;
  }
}

#else  // a target with vector registers

/// Computes out[i] = f(a[i], b[i]) over whole registers of T, and the rest through a copy. Pointers are to bytes, since
/// they may be misaligned.
template <class T, class F>
HWY_INLINE void for_each(void* out, const void* a, const void* b, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto* to = static_cast<char*>(out);
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  const auto load = [d](const char* from) HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const T*>(from)); };
  const std::size_t step = lanes * sizeof(T);
  std::size_t left = count * sizeof(T);
  for (; left >= 2 * step; left -= 2 * step, to += 2 * step, x += 2 * step, y += 2 * step) {
    const auto first = F::apply(d, load(x), load(y));
    const auto second = F::apply(d, load(x + step), load(y + step));
    hn::StoreU(first, d, reinterpret_cast<T*>(to));
    hn::StoreU(second, d, reinterpret_cast<T*>(to + step));
  }
  if (left >= step) {
    hn::StoreU(F::apply(d, load(x), load(y)), d, reinterpret_cast<T*>(to));
    left -= step, to += step, x += step, y += step;
  }
  if (left == 0) return;
  if constexpr (sizeof(T) >= 4) {
    // Most reductions of programs have few elements, and a detour through memory costs more than adding them.
    const hn::CappedTag<T, 16 / sizeof(T)> quarter;
    const hn::CappedTag<T, 1> one;
    const std::size_t quarter_bytes = hn::Lanes(quarter) * sizeof(T);
    const auto apply = [&](auto tag, std::size_t bytes) HWY_ATTR {
      const auto first = hn::LoadU(tag, reinterpret_cast<const T*>(x));
      const auto second = hn::LoadU(tag, reinterpret_cast<const T*>(y));
      hn::StoreU(F::apply(tag, first, second), tag, reinterpret_cast<T*>(to));
      left -= bytes, to += bytes, x += bytes, y += bytes;
    };
    while (left >= quarter_bytes) apply(quarter, quarter_bytes);
    while (left != 0) apply(one, sizeof(T));
    return;
  }
  HWY_ALIGN T rest_a[hn::MaxLanes(d)] = {};
  HWY_ALIGN T rest_b[hn::MaxLanes(d)] = {};
  std::memcpy(rest_a, x, left);
  std::memcpy(rest_b, y, left);
  hn::Store(F::apply(d, hn::Load(d, rest_a), hn::Load(d, rest_b)), d, rest_a);
  std::memcpy(to, rest_a, left);
}

// ---- Integers. SUM, PROD and the logical operations ignore the sign: they run on unsigned lanes, which wrap.

struct Max {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};
struct Min {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};
struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Band {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};
struct Bor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};
struct Bxor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};
struct Land {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V zero = hn::Zero(d);
    return hn::IfThenZeroElse(hn::Or(hn::Eq(a, zero), hn::Eq(b, zero)), hn::Set(d, 1));
  }
};
struct Lor {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return hn::IfThenZeroElse(hn::Eq(hn::Or(a, b), hn::Zero(d)), hn::Set(d, 1));
  }
};
struct Lxor {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    return hn::Xor(hn::IfThenZeroElse(hn::Eq(a, zero), one), hn::IfThenZeroElse(hn::Eq(b, zero), one));
  }
};
struct Prod {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) ==
                  1) {  // no 8-bit multiply exists: the two bytes of each 16-bit lane, one after the other
      const hn::Repartition<std::uint16_t, D> wide;
      const auto x = hn::BitCast(wide, a), y = hn::BitCast(wide, b);
      const auto low = hn::And(hn::Mul(x, y), hn::Set(wide, 0x00ff));
      const auto high = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(x), hn::ShiftRight<8>(y)));
      return hn::BitCast(d, hn::Or(low, high));
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {  // halves are multiplied; bits above 64 are dropped
      const hn::Repartition<std::uint32_t, D> narrow;
      const auto x = hn::BitCast(narrow, a), y = hn::BitCast(narrow, b);
      const auto x_high = hn::BitCast(narrow, hn::ShiftRight<32>(a)),
                 y_high = hn::BitCast(narrow, hn::ShiftRight<32>(b));
      const auto cross = hn::Add(hn::MulEven(x_high, y), hn::MulEven(x, y_high));
      return hn::Add(hn::MulEven(x, y), hn::ShiftLeft<32>(cross));
    } else {
      return hn::Mul(a, b);
    }
  }
};

// ---- Floats. Every NaN becomes the one quiet NaN: x86 passes on the payload of one operand, and the order decides
// which.

template <class D, class V>
HWY_INLINE V one_nan(D d, V v) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> bits;
  const auto quiet =
      hn::BitCast(d, hn::Set(bits, sizeof(T) == 4 ? hn::TFromD<decltype(bits)>(0x7fc00000U)
                                                  : static_cast<hn::TFromD<decltype(bits)>>(0x7ff8000000000000U)));
  return hn::IfThenElse(hn::IsNaN(v), quiet, v);
}
struct FloatSum {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return one_nan(d, hn::Add(a, b));
  }
};
struct FloatProd {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return one_nan(d, hn::Mul(a, b));
  }
};
/// When a == b, the bits are the same or those of the two zeros: Or leaves -0, And leaves +0. With a NaN no comparison
/// holds and the result is b, which is right if b is the NaN; so only a must be checked.
struct FloatMin {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V less = hn::IfThenElse(hn::Lt(a, b), a, b);
    const V result = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), less);
    return one_nan(d, hn::IfThenElse(hn::IsNaN(a), a, result));
  }
};
struct FloatMax {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V more = hn::IfThenElse(hn::Lt(b, a), a, b);
    const V result = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), more);
    return one_nan(d, hn::IfThenElse(hn::IsNaN(a), a, result));
  }
};

/// bfloat16 is the upper half of a float32: each 32-bit lane holds two, and each is processed in its lane, without
/// shuffling.
template <class F>
struct InBfloat16 {
  template <class D, class V>  // D: u16 lanes
  static HWY_INLINE V apply(D d, V a, V b) {
    const hn::RepartitionToWide<D> d32;
    const hn::RebindToFloat<decltype(d32)> df;
    const auto x = hn::BitCast(d32, a), y = hn::BitCast(d32, b);
    const auto mask = hn::Set(d32, 0xffff0000U);
    const auto high = F::apply(df, hn::BitCast(df, hn::And(x, mask)), hn::BitCast(df, hn::And(y, mask)));
    const auto low = F::apply(df, hn::BitCast(df, hn::ShiftLeft<16>(x)), hn::BitCast(df, hn::ShiftLeft<16>(y)));
    return hn::BitCast(d, hn::Or(hn::And(rounded(d32, high), mask), hn::ShiftRight<16>(rounded(d32, low))));
  }
  /// Rounds to nearest even at bit 16. The one NaN stays a NaN; the largest numbers carry over into infinity as they
  /// should.
  template <class D, class V>
  static HWY_INLINE hn::Vec<D> rounded(D d32, V value) {
    const auto bits = hn::BitCast(d32, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
    return hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fff)));
  }
};

// Converters of the processor (F16C, NEON) round to nearest even and handle subnormals; Highway's emulation of them
// does not.
#undef SUMAC_NATIVE_FLOAT16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
#define SUMAC_NATIVE_FLOAT16 1
#else
#define SUMAC_NATIVE_FLOAT16 0
#endif

struct Float16 {
  /// DF: float32 lanes; `half`: as many 16-bit lanes.
  template <class DF, class V16>
  static HWY_INLINE hn::Vec<DF> widen(DF df, V16 half) {
#if SUMAC_NATIVE_FLOAT16
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::PromoteTo(df, hn::BitCast(d16, half));
#else
    // Shift exponent and mantissa to their float32 bits and correct the exponent's bias; infinities and NaN need twice
    // the correction; a subnormal is read as 1.m x 2^-14 and the 1 subtracted again, which is exact.
    const hn::RebindToUnsigned<DF> du;
    const auto wide = hn::PromoteTo(du, half);
    const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000)));
    const auto shifted = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7fff)));
    const auto exponent = hn::And(shifted, hn::Set(du, 0x7c00U << 13));
    const auto bias = hn::Set(du, (127 - 15) << 23);
    const auto normal = hn::Add(shifted, bias);
    const auto special = hn::Add(normal, bias);
    const auto tiny_base = hn::BitCast(df, hn::Set(du, 113U << 23));
    const auto tiny = hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(normal, hn::Set(du, 1U << 23))), tiny_base));
    auto result = hn::IfThenElse(hn::Eq(exponent, hn::Set(du, 0x7c00U << 13)), special, normal);
    result = hn::IfThenElse(hn::Eq(exponent, hn::Zero(du)), tiny, result);
    return hn::BitCast(df, hn::Or(result, sign));
#endif
  }
  template <class DF, class V>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, DF>> narrow(DF df, V value) {
    const hn::Rebind<std::uint16_t, DF> du16;
#if SUMAC_NATIVE_FLOAT16
    const hn::Rebind<hwy::float16_t, DF> d16;
    (void)df;
    return hn::BitCast(du16, hn::DemoteTo(d16, value));
#else
    // Adding 0.5 to a number below 2^-14 makes the hardware round it at the last subnormal bit; others get the bias and
    // half a unit (a little less if the bit above is even) and are truncated.
    const hn::RebindToUnsigned<DF> du;
    const hn::RebindToSigned<DF> di;
    const auto bits = hn::BitCast(du, value);
    const auto sign = hn::ShiftRight<16>(hn::And(bits, hn::Set(du, 0x80000000U)));
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffffff));
    const auto half_bits = hn::Set(du, 126U << 23);
    const auto tiny =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, half_bits))), half_bits);
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto biased = hn::Add(magnitude, hn::Set(du, 0xc8000fffU));
    const auto normal = hn::ShiftRight<13>(hn::Add(biased, odd));
    const auto m = hn::BitCast(di, magnitude);
    auto result = hn::IfThenElse(hn::RebindMask(du, hn::Lt(m, hn::Set(di, 113 << 23))), tiny, normal);
    result = hn::IfThenElse(hn::RebindMask(du, hn::Gt(m, hn::Set(di, (143 << 23) - 1))), hn::Set(du, 0x7c00), result);
    result = hn::IfThenElse(hn::RebindMask(du, hn::Gt(m, hn::Set(di, 0x7f800000))), hn::Set(du, 0x7e00), result);
    return hn::DemoteTo(du16, hn::BitCast(di, hn::Or(result, sign)));
#endif
  }
};

template <class F>
struct InFloat16 {
  template <class D, class V>  // D: u16 lanes, split into two registers of float32
  static HWY_INLINE V apply(D d, V a, V b) {
    const hn::Half<D> half;
    const hn::RepartitionToWide<D> d32;
    const hn::RebindToFloat<decltype(d32)> df;
    const auto low =
        F::apply(df, Float16::widen(df, hn::LowerHalf(half, a)), Float16::widen(df, hn::LowerHalf(half, b)));
    const auto high =
        F::apply(df, Float16::widen(df, hn::UpperHalf(half, a)), Float16::widen(df, hn::UpperHalf(half, b)));
    return hn::Combine(d, Float16::narrow(df, high), Float16::narrow(df, low));
  }
};

template <class T, class F>
void kernel(void* out, const void* a, const void* b, std::size_t count) {
  for_each<T, F>(out, a, b, count);
}

template <class Unsigned>
Kernel::Function sign_blind(Op op) {
  switch (op) {
    case Op::sum: return kernel<Unsigned, Sum>;
    case Op::prod: return kernel<Unsigned, Prod>;
    case Op::land: return kernel<Unsigned, Land>;
    case Op::lor: return kernel<Unsigned, Lor>;
    case Op::lxor: return kernel<Unsigned, Lxor>;
    case Op::band: return kernel<Unsigned, Band>;
    case Op::bor: return kernel<Unsigned, Bor>;
    case Op::bxor: return kernel<Unsigned, Bxor>;
    default: return nullptr;
  }
}

template <class T>
Kernel::Function integer(Op op) {
  if (op == Op::max) return kernel<T, Max>;
  if (op == Op::min) return kernel<T, Min>;
  return sign_blind<hwy::MakeUnsigned<T>>(op);
}

template <class T, template <class> class In>
Kernel::Function floating(Op op) {
  switch (op) {
    case Op::max: return kernel<T, In<FloatMax>>;
    case Op::min: return kernel<T, In<FloatMin>>;
    case Op::sum: return kernel<T, In<FloatSum>>;
    case Op::prod: return kernel<T, In<FloatProd>>;
    default: return nullptr;
  }
}

template <class F>
using AsIs = F;

Kernel::Function find_kernel(Op op, Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8: return integer<std::uint8_t>(op);
    case Dtype::int8: return integer<std::int8_t>(op);
    case Dtype::uint16: return integer<std::uint16_t>(op);
    case Dtype::int16: return integer<std::int16_t>(op);
    case Dtype::uint32: return integer<std::uint32_t>(op);
    case Dtype::int32: return integer<std::int32_t>(op);
    case Dtype::uint64: return integer<std::uint64_t>(op);
    case Dtype::int64: return integer<std::int64_t>(op);
    case Dtype::float32: return floating<float, AsIs>(op);
    case Dtype::float64: return floating<double, AsIs>(op);
    case Dtype::float16: return floating<std::uint16_t, InFloat16>(op);
    case Dtype::bfloat16: return floating<std::uint16_t, InBfloat16>(op);
    case Dtype::null: return nullptr;
  }
  return nullptr;
}

#endif  // HWY_SCALAR

}  // namespace sumac::reduce::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumac::reduce::detail {

namespace {

using FindKernel = Kernel::Function (*)(Op, Dtype);

FindKernel compiled_for(InstructionSet set) noexcept {
  switch (set) {
#if defined(__x86_64__)
    // Highway's macro has null for a set that this compilation leaves out.
    case InstructionSet::avx512:
      if (FindKernel find = HWY_CHOOSE_AVX3(find_kernel); find != nullptr) return find;
      [[fallthrough]];
    case InstructionSet::avx2:
      if (FindKernel find = HWY_CHOOSE_AVX2(find_kernel); find != nullptr) return find;
      [[fallthrough]];
    case InstructionSet::sse4:
      if (FindKernel find = HWY_CHOOSE_SSE4(find_kernel); find != nullptr) return find;
      [[fallthrough]];
#endif
    default: return HWY_STATIC_DISPATCH(find_kernel);
  }
}

}  // namespace

Kernel::Function simd_kernel(Op op, Dtype dtype) noexcept { return compiled_for(instruction_set())(op, dtype); }

}  // namespace sumac::reduce::detail
#endif
