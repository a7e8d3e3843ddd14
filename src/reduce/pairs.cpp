// MINLOC and MAXLOC work on pairs (value, tag) in the two layouts of base/types.hpp. The value decides, then the lower
// tag; the winning pair moves as a whole. The loop goes element by element: such vectors have a handful of elements,
// and pairs are packed without alignment.
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

/// kSlot: the bytes reserved for the tag, which fills the first of them.
template <class V, class Tag, std::size_t kSlot, bool kMin>
void pairs(void* out, const void* a, const void* b, std::size_t count) {
  constexpr std::size_t kElement = sizeof(V) + kSlot;
  auto* to = static_cast<char*>(out);
  const auto* x = static_cast<const char*>(a);
  const auto* y = static_cast<const char*>(b);
  for (std::size_t i = 0; i < count; ++i, to += kElement, x += kElement, y += kElement) {
    V va, vb;
    Tag ta, tb;
    std::memcpy(&va, x, sizeof va);
    std::memcpy(&vb, y, sizeof vb);
    std::memcpy(&ta, x + sizeof va, sizeof ta);
    std::memcpy(&tb, y + sizeof vb, sizeof tb);
    if (wins<kMin>(key(vb), tb, key(va), ta)) {
      va = vb;
      ta = tb;
    }
    if constexpr (std::is_floating_point_v<decltype(key(va))>) {
      if (std::isnan(key(va))) va = the_nan<V>();
    }
    std::memcpy(to, &va, sizeof va);
    std::memcpy(to + sizeof va, &ta, sizeof ta);
    if constexpr (kSlot > sizeof(Tag)) std::memset(to + sizeof va + sizeof ta, 0, kSlot - sizeof ta);
  }
}

template <class V, class Tag, std::size_t kSlot>
Kernel::Function either(Op op) {
  return op == Op::minloc ? pairs<V, Tag, kSlot, true> : pairs<V, Tag, kSlot, false>;
}

template <class V>
Kernel::Function with_tag(Op op, Dtype tag) {
  switch (tag) {
    case Dtype::uint8: return either<V, std::uint8_t, 1>(op);
    case Dtype::int8: return either<V, std::int8_t, 1>(op);
    case Dtype::uint16: return either<V, std::uint16_t, 2>(op);
    case Dtype::int16: return either<V, std::int16_t, 2>(op);
    case Dtype::uint32: return either<V, std::uint32_t, 4>(op);
    case Dtype::int32: return either<V, std::int32_t, 4>(op);
    case Dtype::uint64: return either<V, std::uint64_t, 8>(op);
    case Dtype::int64: return either<V, std::int64_t, 8>(op);
    case Dtype::null:
      if constexpr (sizeof(V) >= sizeof(std::int32_t)) return either<V, std::int32_t, sizeof(V)>(op);
      return nullptr;
    default: return nullptr;
  }
}

}  // namespace

Kernel::Function pair_kernel(Op op, Dtype dtype, Dtype tag) noexcept {
  switch (dtype) {
    case Dtype::uint8: return with_tag<std::uint8_t>(op, tag);
    case Dtype::int8: return with_tag<std::int8_t>(op, tag);
    case Dtype::uint16: return with_tag<std::uint16_t>(op, tag);
    case Dtype::int16: return with_tag<std::int16_t>(op, tag);
    case Dtype::uint32: return with_tag<std::uint32_t>(op, tag);
    case Dtype::int32: return with_tag<std::int32_t>(op, tag);
    case Dtype::uint64: return with_tag<std::uint64_t>(op, tag);
    case Dtype::int64: return with_tag<std::int64_t>(op, tag);
    case Dtype::float32: return with_tag<float>(op, tag);
    case Dtype::float64: return with_tag<double>(op, tag);
    case Dtype::float16: return with_tag<Half>(op, tag);
    case Dtype::bfloat16: return with_tag<Brain>(op, tag);
    case Dtype::null: return nullptr;
  }
  return nullptr;
}

}  // namespace sumac::reduce::detail
