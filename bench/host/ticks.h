/* Time stamps for calls of a hundred nanoseconds: the processor's counter, which costs a third of clock_gettime and is the
 * same for every program compared. What a stamp costs (10 to 20 ns, measured in each program) is taken off every duration: it
 * is the instrument's, and a plain loop around the same calls agrees with what is left. */
#ifndef SUMAC_BENCH_HOST_TICKS_H
#define SUMAC_BENCH_HOST_TICKS_H

#include <stdint.h>

#include "bench/measure.h"

#if defined(__x86_64__)
#include <x86intrin.h>
/* Between calls back to back: the end of one is the start of the next, so what slips past a stamp is counted all the same. */
static inline int64_t ticks_now(void) { return (int64_t)__rdtsc(); }
/* Around a call that stands alone: nothing slips past. */
static inline int64_t ticks_fenced(void) {
  _mm_lfence();
  const int64_t now = (int64_t)__rdtsc();
  _mm_lfence();
  return now;
}
#else
static inline int64_t ticks_now(void) { return bench_now_ns(); }
static inline int64_t ticks_fenced(void) { return bench_now_ns(); }
#endif

/** The length of a tick, from two readings of both clocks: the longer apart, the better. */
typedef struct {
  int64_t ticks, ns;
} ticks_origin;

static inline ticks_origin ticks_start(void) { return (ticks_origin){ticks_now(), bench_now_ns()}; }

static inline double ticks_ns_each(const ticks_origin* origin) {
  const int64_t ticks = ticks_now() - origin->ticks;
  return ticks > 0 ? (double)(bench_now_ns() - origin->ns) / (double)ticks : 1.0;
}

#endif
