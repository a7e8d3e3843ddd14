/* Nonblocking collectives of derived types, which are freed at once, under MPI_THREAD_MULTIPLE. Prints "multiple: right on N
 * ranks". */
#include <mpi.h>
#include <stdio.h>

enum { BLOCKS = 50, ROUNDS = 20 };

static int wrong;

/* Every second number of 2 * BLOCKS. */
static MPI_Datatype every_second(void) {
  MPI_Datatype type;
  MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void broadcast(int rank, int round) {
  int numbers[2 * BLOCKS];
  for (int i = 0; i < 2 * BLOCKS; ++i) numbers[i] = rank == round % 2 ? 1000 * round + i : -1;
  MPI_Datatype type = every_second();
  MPI_Request request;
  MPI_Ibcast(numbers, 1, type, round % 2, MPI_COMM_WORLD, &request);
  MPI_Type_free(&type);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2 * BLOCKS; i += 2) wrong += numbers[i] != 1000 * round + i;
  for (int i = 1; rank != round % 2 && i < 2 * BLOCKS; i += 2) wrong += numbers[i] != -1;
}

int main(int argc, char** argv) {
  int rank, size, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; ++round) broadcast(rank, round);
  if (wrong || provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "multiple: rank %d: %d numbers are WRONG, level %d\n", rank, wrong, provided);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (rank == 0) printf("multiple: right on %d ranks\n", size);
  MPI_Finalize();
  return 0;
}
