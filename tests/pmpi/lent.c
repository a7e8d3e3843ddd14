/* Persistent collectives of ours are freed, then one that is always the MPI's is started: the MPI must not find anything of ours in it.
 * Prints "lent: right on 2 ranks". Needs the persistent collectives of MPI 4. */
#include <mpi.h>
#include <stdio.h>

static void run_and_free(MPI_Request* request) {
  MPI_Start(request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  MPI_Request_free(request);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int own = rank + 1, sum = 0, given[2], got[2] = {0, 0};
  for (int i = 0; i < 20; ++i) {
    MPI_Request requests[3];
    for (int r = 0; r < 3; ++r) {
      MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[r]);
    }
    for (int r = 0; r < 3; ++r) {
      run_and_free(&requests[r]);
    }
  }
  MPI_Request exchange;
  const int counts[2] = {1, 1}, places[2] = {0, sizeof(int)};
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  given[0] = given[1] = own;
  if (size != 2) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Alltoallw_init(given, counts, places, types, got, counts, places, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &exchange);
  run_and_free(&exchange);
  if (sum != size * (size + 1) / 2 || got[0] != 1 || got[1] != 2) {
    fprintf(stderr, "lent: rank %d: WRONG: %d, %d and %d\n", rank, sum, got[0], got[1]);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (0 == rank) {
    printf("lent: right on %d ranks\n", size);
  }
  MPI_Finalize();
  return 0;
}
