/* walked FOLDER: an MPI program that does one MPI_Allreduce of 8 bytes after the other, each when nothing of the one before
 * is on its way. Each rank writes into FOLDER/window.RANK when its calls began and ended: a line "begin end" for each, ns of
 * CLOCK_MONOTONIC. */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 20 };
#define APART_NS (INT64_C(50) * 1000 * 1000) /* from the begin of a call to that of the next */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: walked FOLDER\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int64_t mine = rank, sum = 0;
  for (int i = 0; i < 200; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  int64_t start = now_ns() + APART_NS;
  MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  char path[4096];
  snprintf(path, sizeof path, "%s/window.%d", argv[1], rank);
  FILE* file = fopen(path, "w");
  int is_right = file != NULL;
  for (int call = 0; call < CALLS; ++call) {
    while (now_ns() < start + call * APART_NS) continue; /* all begin at one time */
    int64_t began = now_ns();
    sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int64_t ended = now_ns();
    is_right = is_right && sum == (int64_t)ranks * (ranks - 1) / 2 &&
               fprintf(file, "%" PRId64 " %" PRId64 "\n", began, ended) > 0;
  }
  is_right = file != NULL && fclose(file) == 0 && is_right;
  if (!is_right) fprintf(stderr, "walked: rank %d: a wrong sum, or no %s\n", rank, path);
  while (now_ns() < start + CALLS * APART_NS) continue; /* MPI_Finalize is no part of the last call */
  MPI_Finalize();
  return is_right ? 0 : 1;
}
