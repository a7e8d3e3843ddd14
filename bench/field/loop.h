/* Times one cell as OSU's and Intel's programs do: every call has the same buffers, is timed alone, and is followed by a
 * barrier outside the time (barriers follow each other without one). Filling and checking lie outside the time too. */
#ifndef SUMAC_BENCH_FIELD_LOOP_H
#define SUMAC_BENCH_FIELD_LOOP_H

#include "bench/field/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The options that a line about a limit names. */
typedef struct {
  const char *sizes, *iterations, *memory;
} field_options;

typedef struct {
  const char* name; /**< For messages: "osu_allreduce", "IMB-MPI1 Allreduce". */
  const field_options* options;
  const field_kind* kind;
  MPI_Comm comm;
  size_t bytes;
  int iterations, warmup;
  int is_checked;
  int overlaps; /**< The nonblocking form, beside a computation of the same length. */
  int is_pure;  /**< The nonblocking form, followed by MPI_Wait at once. */
  int tests;    /**< MPI_Test is called so often during the computation. */
  /** Above 0: as many iterations as fit into these seconds, at most `iterations` (Intel's -time). */
  double seconds_max;
  double memory_max; /**< Bytes that the buffers of a process may take. */
} field_cell;

/** The mean of a rank's calls, in microseconds. Only `pure` counts for blocking calls. */
typedef struct {
  double pure;                               /**< The call, or posting and waiting, alone. */
  double overall, compute, post, test, wait; /**< The call beside a computation, and its parts. */
} field_times;

typedef struct {
  int ranks, iterations;
  field_times* of_rank;      /**< [ranks] at rank 0 of the communicator, NULL elsewhere. */
  double* pure_of_iteration; /**< [iterations] mean over the ranks, in microseconds; likewise. */
  long errors;               /**< Wrong elements over all ranks and iterations; at every rank. */
} field_result;

/** Measures a cell. @return 0; -1: a limit, or too little memory at a rank, leaves this size out, and larger ones; rank 0 has named it on stderr. */
int field_measure(const field_cell* cell, field_result* result);
void field_result_end(field_result* result);

/** Measures how fast this rank computes; called once, before the first cell that overlaps. */
void field_calibrate(void);

#ifdef __cplusplus
}
#endif
#endif
