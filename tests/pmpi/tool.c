/* A profiling library as others write it: it counts some functions of MPI and prints the numbers at MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>

static int allreduces, barriers, waits;

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
  return PMPI_Wait(request, status);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (0 == rank) {
    fprintf(stderr, "tool: %d allreduces, %d barriers, %d waits\n", allreduces, barriers, waits);
  }
  return PMPI_Finalize();
}
