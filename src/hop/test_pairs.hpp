#pragma once
// Operands for which a sum in integers could differ from the processor's, and the comparison of a result with src/reduce.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/random.hpp"
#include "base/types.hpp"
#include "reduce/reduce.hpp"
#include "reduce/reference.hpp"

namespace sumac::test {

static_assert(std::endian::native == std::endian::little, "the first element of a word lies in its low bits");

inline constexpr unsigned mantissa_bits(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::float64: return 52;
    case Dtype::float32: return 23;
    case Dtype::float16: return 10;
    case Dtype::bfloat16: return 7;
    default: return static_cast<unsigned>(4 * width(dtype));
  }
}

/// Draws elements that are near each other, cancel, are subnormal, tie or overflow as often as they are any bits.
inline std::pair<std::uint64_t, std::uint64_t> draw_elements(Random& random, Dtype dtype) {
  const unsigned mantissa = mantissa_bits(dtype);
  const std::uint64_t sign = std::uint64_t{1} << (8 * width(dtype) - 1), all = sign | (sign - 1);
  const std::uint64_t low = (std::uint64_t{1} << mantissa) - 1, upper = (sign - 1) & ~low;
  const std::uint64_t how = random.next(), distance = how >> 8 & 7;
  std::uint64_t a = random.next(), b = random.next();
  switch (how % 8) {
    case 0: b = (b & ~upper) | ((a + ((distance - 3) << mantissa)) & upper); break;
    case 1: b = (b & ~upper) | ((a - ((mantissa + (distance & 3)) << mantissa)) & upper); break;
    case 2: b = a ^ sign ^ (distance & 3); break;
    case 3: a &= sign | low | (low + 1), b &= sign | low | (low + 1); break;
    case 4: a |= upper & ~(low + 1), b |= upper & ~(low + 1); break;
    case 5: b &= ~low, a &= ~(low >> 1); break;
    case 6: b &= sign; break;
    default: break;
  }
  return {a & all, b & all};
}

/// The same for as many elements as 8 bytes hold.
inline std::pair<std::uint64_t, std::uint64_t> draw_words(Random& random, Dtype dtype) {
  std::pair<std::uint64_t, std::uint64_t> words;
  for (unsigned at = 0; at < 64; at += static_cast<unsigned>(8 * width(dtype))) {
    const auto [a, b] = draw_elements(random, dtype);
    words.first |= a << at;
    words.second |= b << at;
  }
  return words;
}

/// Returns the word with each NaN replaced by the canonical one: a processor's NaN depends on the order of its operands.
inline std::uint64_t with_one_nan(Dtype dtype, std::uint64_t word) {
  const std::uint64_t same = word;
  if (is_float(dtype)) reduce::reference_reduce(Op::max, dtype, Dtype::null, &word, &same, 8 / width(dtype));
  return word;
}

}  // namespace sumac::test
