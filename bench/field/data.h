/* The buffers of one cell (a collective at one size), and what they must hold. Sums use bench/pattern.h. Bytes that are only
 * moved follow from sender, receiver, iteration and position, so that another rank's block, another iteration's, or a
 * shifted one is found. */
#ifndef SUMAC_BENCH_FIELD_DATA_H
#define SUMAC_BENCH_FIELD_DATA_H

#include "bench/field/kinds.h"
#include "bench/pattern.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const field_kind* kind;
  size_t bytes;
  int ranks, rank;
  field_call call;
  void *send, *receive, *scratch;
  size_t receive_bytes;
  int *counts, *starts;
  bench_pattern* pattern;
} field_data;

/** A wrong element: its index in the receive buffer (floats of a sum, otherwise bytes), and the two values. */
typedef struct {
  size_t element;
  double expected, found;
} field_wrong;

/** Bytes that a process needs for a cell. */
size_t field_data_bytes(const field_kind* kind, size_t bytes, int ranks, int is_checked);

/** The largest displacement, in elements, that MPI's call is given; 0: the call takes none. MPI's limit is INT_MAX. */
size_t field_data_start_max(const field_kind* kind, size_t bytes, int ranks);

/** Allocates the buffers for the ranks of `comm`; field_data_start_max() is within the limit. @return 0; -1: there is too little memory, and nothing is allocated. */
int field_data_begin(field_data* data, const field_kind* kind, size_t bytes, int is_checked, MPI_Comm comm);
void field_data_end(field_data* data);

/** Writes what this rank gives in `iteration`, and something else where it will receive. */
void field_data_fill(field_data* data, int iteration);

/** @return how many elements are wrong after `iteration`; the first of them in `wrong`. */
size_t field_data_check(const field_data* data, int iteration, field_wrong* wrong);

#ifdef __cplusplus
}
#endif
#endif
