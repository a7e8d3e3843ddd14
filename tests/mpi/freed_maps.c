/* Communicators are made, used and freed one after the other, and the memory that the process maps is counted: what ends
 * with a communicator leaves nothing behind.
 *
 * usage: freed_maps COMMUNICATORS     the first 50 may leave something: caches fill */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int maps(void) {
  int lines = 0, byte;
  FILE* file = fopen("/proc/self/maps", "r");
  if (NULL == file) {
    perror("freed_maps: /proc/self/maps");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  while (EOF != (byte = fgetc(file))) lines += '\n' == byte;
  fclose(file);
  return lines;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, before = 0, many = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < many; ++i) {
    MPI_Comm comm;
    int sum = -1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Barrier(comm);
    if (sum != size * (size - 1) / 2) {
      fprintf(stderr, "freed_maps: WRONG sum %d of %d ranks\n", sum, size);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm_free(&comm);
    if (49 == i) before = maps();
  }
  int more = maps() - before, most = 0; /* the heap may grow by a map or two, and shrink */
  MPI_Reduce(&more, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
  if (0 == rank) printf("freed_maps: %d more maps after the last %d of %d communicators\n", most, many - 50, many);
  MPI_Finalize();
  return 0;
}
