/* Calls a known number of collectives on communicators of several kinds. In between it makes communicators and a window, for
 * which an MPI calls collectives of its own. Prints "once: right on N ranks". */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 5 };

static int wrong;

/* A barrier and a sum in each round. */
static void use(MPI_Comm comm, int ranks, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Barrier(comm);
    wrong += sum != ranks;
  }
}

/* The MPI's window has a communicator of its own. */
static void use_window(MPI_Comm comm) {
  MPI_Win window;
  int memory = 0;
  MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, comm, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  use(MPI_COMM_WORLD, size, ROUNDS);
  MPI_Comm half, host, copy, between;
  const int other = rank % 2 ? (size + 1) / 2 : size / 2; /* ranks in the other half */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  use(copy, size, 1);
  use_window(copy);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &between);
  use(between, other, 2);
  use(MPI_COMM_WORLD, size, 1);
  MPI_Comm_free(&between);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&host);
  MPI_Comm_free(&half);
  if (wrong) {
    fprintf(stderr, "once: rank %d: %d sums are WRONG\n", rank, wrong);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (0 == rank) printf("once: right on %d ranks\n", size);
  MPI_Finalize();
  return 0;
}
