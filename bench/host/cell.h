/* One cell: a collective at one size, some iterations of it, verified. */
#ifndef SUMAC_BENCH_HOST_CELL_H
#define SUMAC_BENCH_HOST_CELL_H

#include "bench/host/area.h"
#include "bench/measure.h"

/** Rank 0's report on a cell; times are in ticks. */
typedef struct {
  bench_summary call;          /**< The time of an iteration is the mean over ranks. */
  double pure, slept, overlap; /**< Overlap cells: both times, and 100 x the hidden share of the pure time. */
  double round_trip_ns[2];     /**< Before and after; 0: not measured. */
  long verified, errors;       /**< Over all ranks. */
} cell_result;

/** Returns the cost of noting a duration, in ticks. It is taken off every duration. */
double cell_stamp_ticks(int fenced);

/** Runs on all ranks alike; the result is rank 0's. `ns_each`: of a tick. */
void cell_run(const area_command* command, double ns_each, cell_result* result);

#endif
