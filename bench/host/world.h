/* Hostbench asks this of the library that it measures: an MPI (world_mpi.c), or plain shared memory (world_naive.c, the
 * column "bare"). All calls return 0, or a code for world_explain(). */
#ifndef SUMAC_BENCH_HOST_WORLD_H
#define SUMAC_BENCH_HOST_WORLD_H

#include <stddef.h>

#include "bench/pattern.h"

typedef enum {
  kBarrier,
  kAllreduce,
  kBcast,
  kReduce,
  kAllgather,
  kAlltoall,
  kGather,
  kScatter,
  kScatterv,
  kAllgatherv, /**< Its blocks, and those of alltoallv, have two sizes: world_block_count(). */
  kAlltoallv,
  kScan,
  kExscan,
  kReduceScatter, /**< Blocks of equal length: those of uneven length take as long as their sum. */
  kWorldKinds
} world_kind;

/** The elements of a call, and the operation that adds them up. */
typedef enum {
  kPlain,
  kVector, /**< Runs of kVectorRun bytes with as much between them, as one element of a derived type. */
  kPairs,  /**< A double and an int, of which MAXLOC chooses. */
  kOwnSum  /**< Added up by an operation of the program's own. */
} world_form;

enum { kVectorRun = 64, kSmallPart = 128 };

typedef struct {
  double value;
  int place;
} world_pair;

typedef struct {
  const void* send;
  void* receive; /**< kBcast: the buffer. Root is rank 0. */
  size_t count;  /**< Elements of one block: what one rank gives to one other. */
  bench_type type;
  int is_char; /**< Elements are single characters, whatever `type` is. */
  world_form form;
} world_arguments;

/** Elements that `from` has for `to`, or (kAllgatherv) for all: by turns the whole count and a kSmallPart-th of it. */
static inline size_t world_block_count(world_kind kind, const world_arguments* a, int from, int to) {
  const int is_small = kind == kAllgatherv ? from % 2 == 0 : kind == kAlltoallv && (from + to) % 2 == 0;
  return is_small ? a->count / kSmallPart : a->count;
}

/** This process's rank before the start, for pinning; -1 if the launcher does not say. */
int world_early_rank(void);
/** `ranks`: how many there must be; the naive world makes them. */
int world_start(int* argc, char*** argv, int ranks);
int world_stop(void);
int world_rank(void);
int world_size(void);
const char* world_explain(int code);
__attribute__((noreturn)) void world_abort(void);

int world_call(world_kind kind, const world_arguments* arguments);

/** Nonblocking form: one at a time. */
int world_post(world_kind kind, const world_arguments* arguments);
int world_wait(void);

/** A duplicate of the communicator of all, or its part of about two ranks with this one in it; while there is one,
 *  world_call() works on it. */
int world_dup(void);
int world_split(void);
int world_current_size(void);
int world_free_dup(void);

#endif
