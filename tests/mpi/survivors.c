/* A loop of collectives that somebody ends by killing ranks: what each rank was told of each.
 *
 *   survivors FOLDER
 *
 * Operations 0, 3, 6, ... are allreduces, 1, 4, 7, ... barriers, 2, 5, 8, ... broadcasts from changing roots. A rank writes
 * a line for each into FOLDER/RANK: "N ok", or "N failed CODE REASON" for the first that fails.
 * Then it looks whether results that it had are still there, and leaves by _exit(). tests/clients/survivors.c does the same with
 * libsharp_coll. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "survivors.h"

static int all_reduce(void* unused, long* in, long* out, int count) {
  (void)unused;
  return MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
}
static int barrier(void* unused) {
  (void)unused;
  return MPI_Barrier(MPI_COMM_WORLD);
}
static int bcast(void* unused, long* data, int count, int root) {
  (void)unused;
  return MPI_Bcast(data, count, MPI_LONG, root, MPI_COMM_WORLD);
}
static int reason(void* unused, int code, char* words, int bytes) {
  (void)unused;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, class = MPI_SUCCESS;
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &class);
  snprintf(words, (size_t)bytes, "%s", text);
  return class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const struct collectives calls = {NULL, all_reduce, barrier, bcast, reason};
  return survive(argc > 1 ? argv[1] : ".", &calls);
}
