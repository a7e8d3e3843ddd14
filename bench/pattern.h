/* Data of a verified sum: element i of rank r in iteration k is weight(r, k) * base(i + offset(k)), both small positive
 * integers, so that
 *   - the exact sum is (sum of the weights) * base: one multiplication per element checks it, whatever the ranks;
 *   - a rank missing, counted twice or replaced by another changes the sum of the weights; data of another iteration or
 *     a shifted fragment changes the base: each is far outside the bound below;
 *   - each product is exact in its type, so the only rounding is that of the additions under test.
 *
 * Bound for floats: n terms added in any order and shape differ from the exact sum S of positive terms by at most
 * gamma(n-1) * S with gamma(m) = m u / (1 - m u), u = 2^-24 (float) or 2^-53 (double): each term passes through at most
 * n - 1 additions, each rounding by a factor of 1 + d, |d| <= u (Higham, Accuracy and Stability of Numerical
 * Algorithms, sec. 4.2). Integers must be equal. */
#ifndef SUMAC_BENCH_PATTERN_H
#define SUMAC_BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { kBenchInt32, kBenchInt64, kBenchFloat, kBenchDouble, kBenchTypes } bench_type;

enum { kBenchRanksMax = 2047 }; /**< Beyond this a sum of int32 could overflow. */

const char* bench_type_name(bench_type type); /**< "int32", "int64", "float", "double" */
size_t bench_type_bytes(bench_type type);
int bench_parse_type(const char* text, bench_type* type); /**< @return 0, or -1: no such type. */

/** The relative error that n terms added in any order may have; 0 for integers. */
double bench_error_bound(bench_type type, int ranks);

typedef struct bench_pattern bench_pattern;

/** @return NULL if memory is short. Owner: the caller, until bench_pattern_free(). */
bench_pattern* bench_pattern_new(bench_type type, int ranks, size_t count);
void bench_pattern_free(bench_pattern* pattern);

/** Writes what `rank` contributes in `iteration` into out[count]. */
void bench_pattern_fill(const bench_pattern* pattern, int rank, int iteration, void* out);
/** The same of elements first, first + 1, ... alone: out[count]. */
void bench_pattern_fill_part(const bench_pattern* pattern, int rank, int iteration, size_t first, size_t count,
                             void* out);

typedef struct {
  size_t element; /**< The first wrong one. */
  double got, expected, allowed;
} bench_mismatch;

/** @return how many of result[count] are not the sum over all ranks; the first is told in `first` (may be NULL). */
size_t bench_pattern_check(const bench_pattern* pattern, int iteration, const void* result, bench_mismatch* first);
/** The same for the part of the sum that begins with element `begin`; what is told in `first` counts from there. */
size_t bench_pattern_check_part(const bench_pattern* pattern, int iteration, size_t begin, size_t count,
                                const void* result, bench_mismatch* first);

#ifdef __cplusplus
}
#endif
#endif
