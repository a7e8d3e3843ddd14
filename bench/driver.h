/* The loop around a measured collective, for programs that are started by mpirun: reads the cases, fills, calls, times,
 * checks, gathers and prints. What is measured is the program's: MPI's own collectives, or a library that uses MPI only to
 * get started. The driver's own messages are MPI point-to-point and gathers, outside of everything timed. */
#ifndef SUMAC_BENCH_DRIVER_H
#define SUMAC_BENCH_DRIVER_H

#include <stddef.h>

#include "bench/pattern.h"

typedef struct {
  const void* send;
  void* receive;
  size_t count; /**< Elements of the whole vector. */
  size_t block; /**< Elements of one rank's part of it: count / ranks. */
  int ranks, rank;
  int root; /**< The root of bcast and reduce; it changes with each iteration. */
  bench_type type;
} bench_call;

/** The data that the ranks give and get. The size of a case is that of the whole vector. */
typedef enum {
  kBenchNothing,  /**< barrier: no data. */
  kBenchAllSum,   /**< allreduce: each rank passes a vector, and each receives the sum. */
  kBenchSumPart,  /**< reduce_scatter: each rank passes a vector and receives its block of the sum. */
  kBenchGather,   /**< allgather: each rank passes a block and receives the vector of all blocks. */
  kBenchExchange, /**< alltoall: each rank passes a block for every rank and receives one from every rank. */
  kBenchFromRoot, /**< bcast: the root passes a vector, and all other ranks receive it. */
  kBenchToRoot    /**< reduce: each rank passes a vector, and the root receives the sum. */
} bench_shape;

typedef struct {
  const char* name;
  bench_shape shape;
  int (*call)(const bench_call* arguments); /**< 0: done; else a code for bench_program.explain. */
  int waits; /**< Only the time of those counts who need nobody: of the root of bcast, of the other ranks of reduce. */
} bench_collective;

typedef struct {
  const char* name;
  const char* purpose; /**< For --help: what it measures. */
  const bench_collective* collectives;
  int collective_count;
  const char* (*explain)(int code);
  int (*start)(void); /**< After MPI_Init, before the first cell; NULL: nothing to do. Same codes. */
  int (*stop)(void);  /**< After the last cell, before MPI_Finalize. */
} bench_program;

/** The whole of main(). @return 0; 1: a result was wrong; 2: the command line is. Aborts the job if a call fails. */
int bench_main(int argc, char** argv, const bench_program* program);

#endif
