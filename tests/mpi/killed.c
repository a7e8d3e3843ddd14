/* Calls allreduce until one fails, reports that and ends in order. The test that starts it kills an aggregation node
 * meanwhile. With an argument all ranks end after so many seconds. Every result before the failure is checked: a call
 * that succeeds is right, whatever happens to the tree. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, rc = MPI_SUCCESS, class = MPI_SUCCESS;
  long done = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  double until = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 60);
  for (; MPI_SUCCESS == rc; ++done) {
    long in[100], out[100];
    for (int i = 0; i < 100; ++i) in[i] = done + rank + i;
    rc = MPI_Allreduce(in, out, 100, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 100 && MPI_SUCCESS == rc; ++i) {
      if (out[i] != size * (done + i) + (long)size * (size - 1) / 2) {
        fprintf(stderr, "killed: WRONG sum on rank %d in call %ld\n", rank, done);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
    if (20 == done && 0 == rank) {
      printf("killed: ready\n");
      fflush(stdout);
    }
    int over = MPI_Wtime() > until;
    if (argc > 1 && MPI_SUCCESS == rc && 0 == done % 100)
      rc = MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    else if (argc > 1)
      over = 0;
    if (over) break;
  }
  if (MPI_SUCCESS != rc) MPI_Error_class(rc, &class);
  printf("killed: rank %d call %ld %s\n", rank, done, MPI_ERR_OTHER == class ? "MPI_ERR_OTHER" : "never failed");
  char words[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (MPI_SUCCESS != rc) MPI_Error_string(rc, words, &length);
  printf("killed: rank %d reads: %s\n", rank, words);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
