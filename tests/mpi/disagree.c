/* Ranks that disagree on the count: every rank gets MPI_ERR_OTHER, and stderr names who differed. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, in[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[8];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int first = MPI_Allreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int second = MPI_Allreduce(in, out, 1 == rank ? 8 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  int class = MPI_SUCCESS;
  if (MPI_SUCCESS != second) MPI_Error_class(second, &class);
  printf("disagree: rank %d first %s second %s\n", rank, MPI_SUCCESS == first ? "ok" : "failed",
         MPI_ERR_OTHER == class ? "MPI_ERR_OTHER" : "not MPI_ERR_OTHER");
  fflush(stdout);
  MPI_Finalize();
  return MPI_SUCCESS == first && MPI_ERR_OTHER == class ? 0 : 1;
}
