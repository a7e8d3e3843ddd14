// MINLOC and MAXLOC work on pairs (value, tag) in the two layouts of base/types.hpp. The value decides, then the lower
// tag; the winning pair moves as a whole. The loop goes element by element: such vectors have a handful of elements,
// and pairs are packed without alignment.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/kernels.hpp"

namespace sumac::reduce::detail {
namespace {

/// The 16-bit floats as stored in memory; each is compared as the float32 of exactly the same value.
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

float from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class V>
V key(V value) {
  return value;
}
float key(Brain value) { return from_bits(std::uint32_t{value.bits} << 16); }
float key(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16, exponent = value.bits >> 10 & 0x1f,
                      mantissa = value.bits & 0x3ffU;
  if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * 0x1p-24F, from_bits(sign));
  const std::uint32_t biased = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return from_bits(sign | biased << 23 | mantissa << 13);
}

template <class V>
V the_nan() {
  if constexpr (std::is_same_v<V, Half>)
    return {0x7e00};
  else if constexpr (std::is_same_v<V, Brain>)
    return {0x7fc0};
  else
    return std::numeric_limits<V>::quiet_NaN();
}

/// Returns whether (vb, tb) wins over (va, ta).
template <bool kMin, class K, class Tag>
bool wins(K vb, Tag tb, K va, Tag ta) {
  if constexpr (std::is_floating_point_v<K>) {
    if (std::isnan(va) || std::isnan(vb)) {
      if (std::isnan(va) && std::isnan(vb)) return tb < ta;
      return std::isnan(vb);
    }
  }
  if (vb != va) return kMin ? vb < va : vb > va;
  if (tb != ta) return tb < ta;
  if constexpr (std::is_floating_point_v<K>) return std::signbit(vb) == kMin;  // only the two zeros differ here
  return false;
}

/// A floating-point tag is compared as the integer that sorts its bits by value, so that the order is total: -0 comes
/// before +0, and a NaN has a place.
template <class Tag>
auto tag_key(Tag tag) {
  if constexpr (std::is_floating_point_v<Tag>) {
    using Int = std::conditional_t<sizeof(Tag) == 4, std::int32_t, std::int64_t>;
    const auto bits = std::bit_cast<Int>(tag);
    return bits < 0 ? static_cast<Int>(bits ^ std::numeric_limits<Int>::max()) : bits;
  } else {
    return tag;
  }
}

/// The tag lies kTagAt bytes behind the begin of a pair of kBytes bytes; all else is padding, zero in the result.
template <class V, class Tag, std::size_t kTagAt, std::size_t kBytes, bool kMin>
void pairs(void* out, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<char*>(out);
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  for (std::size_t i = 0; i < count; ++i, to += kBytes, x += kBytes, y += kBytes) {
    V va, vb;
    Tag ta, tb;
    std::memcpy(&va, x, sizeof va);
    std::memcpy(&vb, y, sizeof vb);
    std::memcpy(&ta, x + kTagAt, sizeof ta);
    std::memcpy(&tb, y + kTagAt, sizeof tb);
    if (wins<kMin>(key(vb), tag_key(tb), key(va), tag_key(ta))) {
      va = vb;
      ta = tb;
    }
    if constexpr (std::is_floating_point_v<decltype(key(va))>) {
      if (std::isnan(key(va))) va = the_nan<V>();
    }
    if constexpr (kBytes > sizeof(V) + sizeof(Tag)) std::memset(to, 0, kBytes);
    std::memcpy(to, &va, sizeof va);
    std::memcpy(to + kTagAt, &ta, sizeof ta);
  }
}

template <class V, class Tag, Dtype kValue, Dtype kTag>
Kernel::Function either(Op op) {
  constexpr PairLayout kAt = pair_layout(kValue, kTag);
  return op == Op::minloc ? pairs<V, Tag, kAt.tag_at, kAt.bytes, true> : pairs<V, Tag, kAt.tag_at, kAt.bytes, false>;
}

template <class V, Dtype kValue>
Kernel::Function with_tag(Op op, Dtype tag) {
  switch (tag) {
    case Dtype::uint8: return either<V, std::uint8_t, kValue, Dtype::uint8>(op);
    case Dtype::int8: return either<V, std::int8_t, kValue, Dtype::int8>(op);
    case Dtype::uint16: return either<V, std::uint16_t, kValue, Dtype::uint16>(op);
    case Dtype::int16: return either<V, std::int16_t, kValue, Dtype::int16>(op);
    case Dtype::uint32: return either<V, std::uint32_t, kValue, Dtype::uint32>(op);
    case Dtype::int32: return either<V, std::int32_t, kValue, Dtype::int32>(op);
    case Dtype::uint64: return either<V, std::uint64_t, kValue, Dtype::uint64>(op);
    case Dtype::int64: return either<V, std::int64_t, kValue, Dtype::int64>(op);
    case Dtype::null: return either<V, std::int32_t, kValue, Dtype::null>(op);
    default:
      if constexpr (is_tag(kValue, kValue) && is_float(kValue)) return either<V, V, kValue, kValue>(op);
      return nullptr;
  }
}

}  // namespace

Kernel::Function pair_kernel(Op op, Dtype dtype, Dtype tag) noexcept {
  switch (dtype) {
    case Dtype::uint8: return with_tag<std::uint8_t, Dtype::uint8>(op, tag);
    case Dtype::int8: return with_tag<std::int8_t, Dtype::int8>(op, tag);
    case Dtype::uint16: return with_tag<std::uint16_t, Dtype::uint16>(op, tag);
    case Dtype::int16: return with_tag<std::int16_t, Dtype::int16>(op, tag);
    case Dtype::uint32: return with_tag<std::uint32_t, Dtype::uint32>(op, tag);
    case Dtype::int32: return with_tag<std::int32_t, Dtype::int32>(op, tag);
    case Dtype::uint64: return with_tag<std::uint64_t, Dtype::uint64>(op, tag);
    case Dtype::int64: return with_tag<std::int64_t, Dtype::int64>(op, tag);
    case Dtype::float32: return with_tag<float, Dtype::float32>(op, tag);
    case Dtype::float64: return with_tag<double, Dtype::float64>(op, tag);
    case Dtype::float16: return with_tag<Half, Dtype::float16>(op, tag);
    case Dtype::bfloat16: return with_tag<Brain, Dtype::bfloat16>(op, tag);
    case Dtype::null: return nullptr;
  }
  return nullptr;
}

}  // namespace sumac::reduce::detail
