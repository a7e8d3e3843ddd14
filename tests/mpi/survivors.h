/* The programs called survivors share the loop, its checks and its records. */
#ifndef SUMAC_TESTS_MPI_SURVIVORS_H
#define SUMAC_TESTS_MPI_SURVIVORS_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each returns 0 if it did what it should. */
struct collectives {
  void* context;
  int (*all_reduce)(void* context, long* in, long* out, int count);
  int (*barrier)(void* context);
  int (*bcast)(void* context, long* data, int count, int root);
  /* Writes why the last one failed with this code. Returns what all ranks must have alike. */
  int (*reason)(void* context, int code, char* words, int bytes);
};

enum { SURVIVORS_COUNT = 1024, SURVIVORS_KEPT = 6 };

static long survivors_given(long operation, int rank, int i) { return operation * (rank + 1) + i; }
static long survivors_right(long operation, int size, int i) {
  return operation % 3 == 0 ? operation * size * (size + 1) / 2 + (long)i * size
                            : survivors_given(operation, (int)(operation / 3 % size), i);
}

/* Leaves the process. */
static int survive(const char* folder, const struct collectives* calls) {
  static long in[SURVIVORS_COUNT], kept[SURVIVORS_KEPT][SURVIVORS_COUNT];
  static const int counts[] = {1, 100, SURVIVORS_COUNT};
  int rank, size, code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", folder, rank);
  const int record = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (record < 0) MPI_Abort(MPI_COMM_WORLD, 2);
  long operation = 0;
  for (;; ++operation) {
    const int count = counts[operation % 7 % 3], root = (int)(operation / 3 % size);
    long* const out = kept[operation % SURVIVORS_KEPT];
    for (int i = 0; i < count; ++i) {
      in[i] = survivors_given(operation, rank, i);
      out[i] = rank == root ? in[i] : -1;
    }
    if (operation % 3 == 0)
      code = calls->all_reduce(calls->context, in, out, count);
    else if (operation % 3 == 1)
      code = calls->barrier(calls->context);
    else
      code = calls->bcast(calls->context, out, count, root);
    if (0 != code) break;
    dprintf(record, "%ld ok\n", operation);
  }
  char words[1024] = "";
  const int alike = calls->reason(calls->context, code, words, sizeof words);
  dprintf(record, "%ld failed %d %s\n", operation, alike, words);
  for (long had = operation < SURVIVORS_KEPT ? 0 : operation - SURVIVORS_KEPT + 1; had < operation; ++had)
    for (int i = 0; had % 3 != 1 && i < counts[had % 7 % 3]; ++i)
      if (kept[had % SURVIVORS_KEPT][i] != survivors_right(had, size, i)) {
        dprintf(record, "%ld wrong\n", had);
        break;
      }
  _exit(0);
}

#endif
