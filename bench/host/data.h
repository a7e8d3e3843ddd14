/* The data of a cell's calls: where they lie, and what they must be before and after. */
#ifndef SUMAC_BENCH_HOST_DATA_H
#define SUMAC_BENCH_HOST_DATA_H

#include "bench/host/world.h"

typedef struct {
  int row; /**< Its index in the table of kinds.h. */
  world_kind kind;
  int rank, ranks;
  world_arguments call;
  bench_pattern* pattern; /**< alltoall and scatterv: a source for each pair of ranks. */
} data_cell;

/** Buffers live as long as the program and only grow: a call sees the same addresses again, as in a program that computes. */
extern struct data_buffers {
  char *send, *receive, *scratch;
  size_t bytes;
} data_buffers;
void data_need_buffers(size_t bytes);

/** Patterns are kept: a table takes milliseconds for a large size, and a cell comes back hundreds of times. */
bench_pattern* data_pattern_for(bench_type type, int sources, size_t count);

/** A core's own caches have nothing of this program's data any more. */
void data_leave_caches(void);
/** Gives the cell buffers that none of the last kDataPlaces - 1 iterations had; data_places_bytes() is what they take in all. */
enum { kDataPlaces = 64 };
void data_take_place(data_cell* c, int iteration);
size_t data_places_bytes(const data_cell* c);

/** Has it blocks of its own for each pair of ranks, or of the root's for each rank? */
int data_is_pairwise(const data_cell* c);
/** The room of a block, which is the largest where they differ. */
size_t data_block_bytes(const data_cell* c);
char* data_block(const void* base, const data_cell* c, int index);

/** Writes what this rank gives in this iteration. */
void data_fill(const data_cell* c, int iteration);
/** @return whether this rank's result is wrong. */
int data_check(const data_cell* c, int iteration);

#endif
