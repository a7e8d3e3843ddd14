/* Prints how long a job took to start: from before MPI_Init to the end of the first barrier, at the slowest rank, in ms. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  const double began = now_ms();
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = now_ms() - began;
  double slowest = 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (0 == rank)
    printf("{\"program\":\"mpi-start\",\"case\":\"start\",\"bytes\":0,\"errors\":0,\"median\":%.3f}\n", slowest);
  MPI_Finalize();
  return 0;
}
