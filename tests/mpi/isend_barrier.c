/* Rank 0 posts a large Isend and enters a barrier; rank 1 receives first and enters the barrier afterwards. This is
 * legal MPI, and a deadlock if the barrier of rank 0 waits without driving MPI: the large message needs rank 0 to
 * move on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  enum { BYTES = 8 << 20 };
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* buffer = malloc(BYTES);
  for (int round = 0; round < 3; ++round) {
    if (0 == rank) {
      memset(buffer, round + 1, BYTES);
      MPI_Request request;
      MPI_Isend(buffer, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD, &request);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      if (1 == rank) {
        MPI_Recv(buffer, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (buffer[0] != round + 1 || buffer[BYTES - 1] != round + 1) {
          fprintf(stderr, "isend_barrier: WRONG data\n");
          MPI_Abort(MPI_COMM_WORLD, 3);
        }
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (0 == rank) printf("isend_barrier: passed\n");
  free(buffer);
  MPI_Finalize();
  return 0;
}
