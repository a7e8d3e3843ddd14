/* Every benchmark here shares this, so that columns of one table mean the same: the notation of a case, how durations
 * become one number, and the JSON line that bench/demo.py reads.
 *
 * Method: each rank notes the duration of each call; an iteration is the mean over ranks, a run the median over
 * iterations. A bcast, reduce or allgather begins at one moment on all ranks and lasts until the last rank (reduce: the
 * root) has its result. Filling and checking lie outside the duration. */
#ifndef SUMAC_BENCH_MEASURE_H
#define SUMAC_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kBenchSizesMax = 32, kBenchCasesMax = 32, kBenchNameMax = 32 };

/** One `--case NAME[:SIZES[:ITERATIONS[:WARMUP]]]`: a collective at a few sizes. */
typedef struct {
  char name[kBenchNameMax];
  size_t sizes[kBenchSizesMax]; /**< Bytes per rank. A collective without data has the single size 0. */
  int size_count;
  int iterations; /**< -1: bench_default_iterations() of the size. */
  int warmup;     /**< -1: 10 % of the iterations, at least 5. */
} bench_case;

/** Reads one case. @return 0, or -1 with one line in `error` that names the text and what is wrong with it. */
int bench_parse_case(const char* text, bench_case* out, char* error, size_t error_bytes);

/** "64", "64K", "16M", "1G" (powers of 1024; KiB and KB mean the same). @return 0, or -1: not a size. */
int bench_parse_bytes(const char* text, size_t* bytes);

/** 200 up to 64 KiB, 10 up to 16 MiB, 5 above: a cell stays a matter of seconds at any size. */
int bench_default_iterations(size_t bytes);
int bench_default_warmup(int iterations);

typedef struct {
  double median, mean, min, max, p90;
} bench_summary;

/** Sorts `values` in place. The median of an even number is the mean of the middle two; p90 is the nearest rank. */
bench_summary bench_summarise(double* values, size_t count);

/** Mean over ranks of each iteration: `ns[rank * stride + iteration]`, `first` iterations dropped; result in ms. */
void bench_mean_over_ranks_ms(const int64_t* ns, int ranks, int stride, int first, int iterations, double* out_ms);

/** Computes the time from the last begin of an iteration to its last end, over all ranks, which must read one clock; a rank
 *  with 0 does not count. The arrays are laid out as above; the result is in ms. */
void bench_span_over_ranks_ms(const int64_t* begin_ns, const int64_t* end_ns, int ranks, int stride, int first,
                              int iterations, double* out_ms);

/** CLOCK_MONOTONIC in ns. */
int64_t bench_now_ns(void);
/** Sleeps until `when_ns` of bench_now_ns(); returns at once if that is in the past. */
void bench_sleep_until_ns(int64_t when_ns);
/** Processor time of this process so far, user and system (getrusage). */
int64_t bench_cpu_ns(void);

typedef struct {
  const char* program;
  const char* collective;
  const char* type; /**< NULL: no data. */
  size_t bytes;
  int ranks;
  int iterations;
  int warmup;
  long verified; /**< Checks made, over all ranks and iterations; -1: this program does not check. */
  long errors;   /**< Checks failed. */
  bench_summary ms;
  double cpu_ms; /**< Processor time of a call, mean over ranks and iterations. */
} bench_result;

/** One line of JSON, flushed, so that whoever reads the pipe sees progress. */
void bench_print_json(FILE* out, const bench_result* result);

#ifdef __cplusplus
}
#endif
#endif
