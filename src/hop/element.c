// The additions of one element are those of every textbook of floating-point hardware: align, add, normalise, round.
#include "hop/element.h"

#include "hop/verified.h"

enum Op { kMax = 0, kMin = 1, kSum = 2, kLand = 4, kBand = 5, kLor = 6, kBor = 7, kLxor = 8, kBxor = 9 };
enum { kFloat64 = 5, kDtypes = 12 };

struct Format {
  uint32_t bits;
  uint32_t mantissa_bits;  // 0: an integer
  uint32_t has_sign;
};

static const struct Format kFormats[kDtypes] = {{32, 0, 0},  {32, 0, 1},  {64, 0, 0}, {64, 0, 1},
                                                {32, 23, 1}, {64, 52, 1}, {16, 0, 0}, {16, 0, 1},
                                                {16, 10, 1}, {16, 7, 1},  {8, 0, 0},  {8, 0, 1}};

HOP_INLINE uint32_t leading_zeros(uint64_t x) {
  uint32_t n = 0;
  if (!(x >> 32)) n += 32, x <<= 32;
  if (!(x >> 48)) n += 16, x <<= 16;
  if (!(x >> 56)) n += 8, x <<= 8;
  if (!(x >> 60)) n += 4, x <<= 4;
  if (!(x >> 62)) n += 2, x <<= 2;
  if (!(x >> 63)) n += 1;
  return n;
}

/// Returns the sum of two finite numbers, |a| >= |b|. Three bits below the mantissa keep what rounding needs: a guard
/// bit, a round bit, and one that is set if any lower bit was.
HOP_INLINE uint64_t finite_sum(uint64_t a, uint64_t b, uint32_t mantissa_bits, uint64_t sign, uint64_t infinity) {
  const uint64_t hidden = 1ULL << mantissa_bits, fraction = hidden - 1;
  const uint64_t size_a = a & (sign - 1), size_b = b & (sign - 1);
  uint64_t exponent = size_a >> mantissa_bits, exponent_b = size_b >> mantissa_bits;
  uint64_t sum = size_a & fraction, addend = size_b & fraction;
  if (exponent)
    sum |= hidden;
  else
    exponent = 1;
  if (exponent_b)
    addend |= hidden;
  else
    exponent_b = 1;
  sum <<= 3;
  addend <<= 3;
  const uint64_t distance = exponent - exponent_b;
  if (distance > 60)
    addend = addend != 0;
  else if (distance)
    addend = (addend >> distance) | ((addend << (64 - distance)) != 0);
  if ((a ^ b) & sign) {
    sum -= addend;
    if (!sum) return 0;
    uint64_t shift = leading_zeros(sum) - (60 - mantissa_bits);
    if (shift > exponent - 1) shift = exponent - 1;
    sum <<= shift & 63;
    exponent -= shift;
  } else {
    sum += addend;
    if (sum >> (mantissa_bits + 4)) sum = (sum >> 1) | (sum & 1), exponent++;
  }
  const uint64_t rest = sum & 7;
  sum >>= 3;
  if (rest > 4 || (rest == 4 && (sum & 1))) sum++;
  if (sum >> (mantissa_bits + 1)) sum >>= 1, exponent++;
  const uint64_t size = sum & hidden ? exponent << mantissa_bits | (sum & fraction) : sum;
  return (a & sign) | (size < infinity ? size : infinity);
}

HOP_INLINE uint64_t float_sum(uint64_t a, uint64_t b, uint32_t mantissa_bits, uint64_t sign) {
  const uint64_t infinity = (sign - 1) & ~((1ULL << mantissa_bits) - 1), nan = infinity | 1ULL << (mantissa_bits - 1);
  if ((a & (sign - 1)) < (b & (sign - 1))) {
    const uint64_t larger = b;
    b = a;
    a = larger;
  }
  if ((a & (sign - 1)) < infinity) return finite_sum(a, b, mantissa_bits, sign, infinity);
  if ((a & (sign - 1)) > infinity) return nan;
  return (b & (sign - 1)) == infinity && ((a ^ b) & sign) ? nan : a;
}

/// Combines one element, in the low bits. A function of its own: the kernel verifies it once, not at each call.
HOP_VERIFIED_ALONE uint64_t hop_combine_element(uint32_t op, uint32_t dtype, uint64_t a, uint64_t b) {
  if (dtype >= kDtypes) return 0;
  const uint32_t mantissa_bits = kFormats[dtype].mantissa_bits, bits = kFormats[dtype].bits & 127;
  const uint64_t sign = 1ULL << ((bits - 1) & 63), all = sign | (sign - 1);
  if (op == kSum && mantissa_bits) return float_sum(a, b, mantissa_bits & 63, sign);
  uint64_t order_a = kFormats[dtype].has_sign ? a ^ sign : a, order_b = kFormats[dtype].has_sign ? b ^ sign : b;
  if (mantissa_bits) {
    const uint64_t infinity = (sign - 1) & ~((1ULL << (mantissa_bits & 63)) - 1);
    if ((a & (sign - 1)) > infinity || (b & (sign - 1)) > infinity)
      return infinity | 1ULL << ((mantissa_bits - 1) & 63);
    // The bits of a negative number rise as its value falls.
    if (a & sign) order_a = ~a & all;
    if (b & sign) order_b = ~b & all;
  }
  switch (op) {
    case kMax: return order_a > order_b ? a : b;
    case kMin: return order_a < order_b ? a : b;
    case kSum: return (a + b) & all;
    case kLand: return a && b;
    case kLor: return a || b;
    default: return !a != !b;
  }
}

bool hop_combines(uint32_t op, uint32_t dtype) {
  if (dtype >= kDtypes) return false;
  return op <= kSum || (op >= kLand && op <= kBxor && kFormats[dtype].mantissa_bits == 0);
}

HOP_VERIFIED_ALONE uint64_t hop_combine(uint32_t op, uint32_t dtype, uint64_t a, uint64_t b) {
  if (op == kSum && dtype == kFloat64) return float_sum(a, b, 52, 1ULL << 63);
  if (op == kBand) return a & b;
  if (op == kBor) return a | b;
  if (op == kBxor) return a ^ b;
  if (dtype >= kDtypes) return 0;
  const uint32_t bits = kFormats[dtype].bits;
  const uint64_t all = ~0ULL >> ((64 - bits) & 63);
  uint64_t result = 0;
  for (uint32_t at = 0; at < 64; at += 8) {
    if (at & (bits - 1)) continue;
    result |= hop_combine_element(op, dtype, a >> at & all, b >> at & all) << at;
  }
  return result;
}
