/* A loop of collectives, each of which is checked, for somebody who kills what carries them.
 *
 *   goes_on SECONDS FOLDER [small | large]
 *
 * Allreduces, broadcasts, reductions and barriers in an order that looks random, 8 B to 64 KiB. Each rank writes
 * CLOCK_MONOTONIC at the begin and at the end of each into FOLDER/RANK, in nanoseconds, and 1 behind them if it is one of
 * the large ones below: three numbers of 8 bytes. Rank 0 prints "goes_on: begun" and, if all results were right,
 * "goes_on: N operations, all right". `small`: allreduces of 8 B alone. `large`: one operation of 20 is of 1 MiB, and some of these are in place. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 131072

static int rank, size;
static int64_t in[MOST], out[MOST];

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns what rank r gives to an operation at an index. */
static int64_t given(uint64_t operation, int r, int i) { return (int64_t)(operation % 1009) * (r + 1) + i; }

static int64_t sum(uint64_t operation, int i) {
  return (int64_t)(operation % 1009) * size * (size + 1) / 2 + (int64_t)i * size;
}

static void fail(uint64_t operation, const char* kind, int count, int i) {
  fprintf(stderr, "goes_on: rank %d: operation %llu, %s of %d: element %d is %lld\n", rank,
          (unsigned long long)operation, kind, count, i, (long long)out[i]);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static void one(uint64_t operation, uint64_t drawn, int is_large) {
  static const int counts[] = {1, 8, 128, 1024, 8192};
  const int count = is_large ? MOST : counts[drawn / 4 % 5], root = (int)(drawn / 20 % (uint64_t)size),
            kind = (int)(drawn % 4);
  const int is_in_place = is_large && drawn / 20 % 2;
  for (int i = 0; i < count; ++i) {
    in[i] = given(operation, rank, i);
    out[i] = is_in_place ? in[i] : -1;
  }
  if (0 == kind) {
    MPI_Allreduce(is_in_place ? MPI_IN_PLACE : in, out, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  } else if (1 == kind) {
    MPI_Reduce(in, out, count, MPI_INT64_T, MPI_SUM, root, MPI_COMM_WORLD);
  } else if (2 == kind) {
    MPI_Bcast(rank == root ? in : out, count, MPI_INT64_T, root, MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; ++i) {
    if (0 == kind && out[i] != sum(operation, i)) fail(operation, "allreduce", count, i);
    if (1 == kind && rank == root && out[i] != sum(operation, i)) fail(operation, "reduce", count, i);
    if (2 == kind && rank != root && out[i] != given(operation, root, i)) fail(operation, "bcast", count, i);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  const int is_small = 4 == argc && 0 == strcmp(argv[3], "small"),
            has_large = 4 == argc && 0 == strcmp(argv[3], "large");
  snprintf(path, sizeof path, "%s/%d", argc > 2 ? argv[2] : ".", rank);
  FILE* const times = 3 == argc || is_small || has_large ? fopen(path, "wb") : NULL;
  if (NULL == times) {
    fprintf(stderr, "usage: goes_on SECONDS FOLDER [small | large]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int64_t until = now_ns() + (int64_t)(atof(argv[1]) * 1e9);
  uint64_t drawn = 1, operation = 0;
  for (int64_t ends = 0; 0 == ends; ++operation) {
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t span[3] = {now_ns(), 0, has_large && 0 == (drawn >> 40) % 20};
    one(operation, is_small ? 0 : drawn >> 33, 0 != span[2]);
    span[1] = now_ns();
    fwrite(span, sizeof span, 1, times);
    if (0 == operation % 64) { /* All end together. */
      ends = 0 == rank && span[1] > until;
      MPI_Bcast(&ends, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    }
    if (0 == rank && 256 == operation) {
      printf("goes_on: begun\n");
      fflush(stdout);
    }
  }
  if (0 != fclose(times)) MPI_Abort(MPI_COMM_WORLD, 3);
  if (0 == rank) printf("goes_on: %llu operations, all right\n", (unsigned long long)operation);
  return MPI_Finalize();
}
