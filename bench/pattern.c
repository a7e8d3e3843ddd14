#include "bench/pattern.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  kOffsets = 4096
};  // the table of bases is this much longer than the data: each iteration starts elsewhere in it

static const struct {
  const char* name;
  size_t bytes;
  unsigned weight_bits, base_bits;  // together no more than the mantissa, so that weight * base is exact
  double unit;                      // u, half the distance from 1 to the next number; 0: exact
} kTypes[kBenchTypes] = {
    [kBenchInt32] = {"int32", 4, 8, 12, 0},
    [kBenchInt64] = {"int64", 8, 26, 26, 0},
    [kBenchFloat] = {"float", 4, 12, 12, FLT_EPSILON / 2.0},
    [kBenchDouble] = {"double", 8, 27, 26, DBL_EPSILON / 2.0},
};

struct bench_pattern {
  bench_type type;
  int ranks;
  size_t count;
  void* bases;  // [count + kOffsets] of the type
};

const char* bench_type_name(bench_type type) { return kTypes[type].name; }
size_t bench_type_bytes(bench_type type) { return kTypes[type].bytes; }

int bench_parse_type(const char* text, bench_type* type) {
  for (int i = 0; i < kBenchTypes; ++i)
    if (strcmp(text, kTypes[i].name) == 0) return *type = (bench_type)i, 0;
  return -1;
}

double bench_error_bound(bench_type type, int ranks) {
  const double mu = (ranks - 1) * kTypes[type].unit;
  return mu / (1 - mu);
}

static uint64_t mix(uint64_t x) {  // a full-period mixer: neighbouring inputs give unrelated outputs
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* In 1 .. 2^bits - 1: never 0, so that nobody's share of a sum is invisible. */
static uint64_t positive(uint64_t x, unsigned bits) { return x % ((UINT64_C(1) << bits) - 1) + 1; }

static uint64_t weight(const bench_pattern* p, int rank, int iteration) {
  const uint64_t seed = ((uint64_t)(uint32_t)iteration << 32) | (uint32_t)rank;
  return positive(mix(seed ^ 0x5357), kTypes[p->type].weight_bits);
}

static uint64_t weight_sum(const bench_pattern* p, int iteration) {
  uint64_t sum = 0;
  for (int rank = 0; rank < p->ranks; ++rank) sum += weight(p, rank, iteration);
  return sum;
}

static size_t offset(int iteration) { return (size_t)(mix((uint64_t)(uint32_t)iteration ^ 0x0FF5E7) % kOffsets); }

bench_pattern* bench_pattern_new(bench_type type, int ranks, size_t count) {
  bench_pattern* p = malloc(sizeof *p);
  if (p == NULL) return NULL;
  *p = (bench_pattern){.type = type, .ranks = ranks, .count = count};
  p->bases = malloc((count + kOffsets) * kTypes[type].bytes);
  if (p->bases == NULL) return free(p), NULL;
  for (size_t i = 0; i < count + kOffsets; ++i) {
    const uint64_t base = positive(mix(i), kTypes[type].base_bits);
    switch (type) {
      case kBenchInt32: ((int32_t*)p->bases)[i] = (int32_t)base; break;
      case kBenchInt64: ((int64_t*)p->bases)[i] = (int64_t)base; break;
      case kBenchFloat: ((float*)p->bases)[i] = (float)base; break;
      case kBenchDouble: ((double*)p->bases)[i] = (double)base; break;
      case kBenchTypes: abort();
    }
  }
  return p;
}

void bench_pattern_free(bench_pattern* p) {
  if (p == NULL) return;
  free(p->bases);
  free(p);
}

void bench_pattern_fill(const bench_pattern* p, int rank, int iteration, void* out) {
  bench_pattern_fill_part(p, rank, iteration, 0, p->count, out);
}

void bench_pattern_fill_part(const bench_pattern* p, int rank, int iteration, size_t first, size_t count, void* out) {
  const uint64_t w = weight(p, rank, iteration);
  const size_t from = offset(iteration) + first;
#define FILL(T)                                                \
  do {                                                         \
    const T* base = (const T*)p->bases + from;                 \
    T* to = out;                                               \
    for (size_t i = 0; i < count; ++i) to[i] = (T)w * base[i]; \
  } while (0)
  switch (p->type) {
    case kBenchInt32: FILL(int32_t); break;
    case kBenchInt64: FILL(int64_t); break;
    case kBenchFloat: FILL(float); break;
    case kBenchDouble: FILL(double); break;
    case kBenchTypes: abort();
  }
#undef FILL
}

/* Counting without a branch lets the compiler vectorise; the first mismatch is looked up only if there is one. WIDE holds
 * the exact sum: float needs 23 + 12 bits, double 38 + 26 (long double has 64 on x86; where it is no wider than double
 * the reference itself is rounded once, which the slack of one more u covers). */
#define CHECK(T, WIDE, WRONG)                                                                      \
  do {                                                                                             \
    const T *base = (const T*)p->bases + from, *got = result;                                      \
    const WIDE sum = (WIDE)w;                                                                      \
    for (size_t i = 0; i < count; ++i) wrong += WRONG(got[i], sum * (WIDE)base[i]);                \
    for (size_t i = 0; wrong != 0 && first != NULL && i < count; ++i) {                            \
      const WIDE expected = sum * (WIDE)base[i];                                                   \
      if (!(WRONG(got[i], expected))) continue;                                                    \
      *first = (bench_mismatch){i, (double)got[i], (double)expected, relative * (double)expected}; \
      break;                                                                                       \
    }                                                                                              \
  } while (0)
#define UNEQUAL(got, expected) ((got) != (expected))
/* `!(a <= b)`, not `a > b`: NaN is wrong too. */
#define FAR(got, expected) (!(fabs((double)(got) - (expected)) <= relative * (expected)))
#define FAR_LONG(got, expected) (!(fabsl((long double)(got) - (expected)) <= (long double)relative * (expected)))

size_t bench_pattern_check(const bench_pattern* p, int iteration, const void* result, bench_mismatch* first) {
  return bench_pattern_check_part(p, iteration, 0, p->count, result, first);
}

size_t bench_pattern_check_part(const bench_pattern* p, int iteration, size_t begin, size_t count, const void* result,
                                bench_mismatch* first) {
  const uint64_t w = weight_sum(p, iteration);
  const size_t from = offset(iteration) + begin;
  double relative = bench_error_bound(p->type, p->ranks);
  if (LDBL_MANT_DIG < 64 && p->type == kBenchDouble) relative += kTypes[p->type].unit;
  size_t wrong = 0;
  switch (p->type) {
    case kBenchInt32: CHECK(int32_t, int64_t, UNEQUAL); break;
    case kBenchInt64: CHECK(int64_t, int64_t, UNEQUAL); break;
    case kBenchFloat: CHECK(float, double, FAR); break;
    case kBenchDouble: CHECK(double, long double, FAR_LONG); break;
    case kBenchTypes: abort();
  }
  return wrong;
}
