/* A sum in each form and a barrier; every rank checks the sums. Prints "first: right on N ranks". */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double own = rank + 1, sum = 0, later = 0;
  MPI_Request request;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Iallreduce(&own, &later, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (sum != size * (size + 1) / 2.0 || later != sum) {
    fprintf(stderr, "first: rank %d: WRONG: %f and %f\n", rank, sum, later);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (0 == rank) {
    printf("first: right on %d ranks\n", size);
  }
  MPI_Finalize();
  return 0;
}
