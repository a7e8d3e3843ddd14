/* Communicators are made, used once and freed, more of them than a job has groups. They are freed in another order
 * than made; one is left to MPI_Finalize. MPI_Comm_idup, which selects modules from inside progress, is used as
 * well.
 *
 * usage: churn [ROUNDS [KEPT]]     KEPT communicators stay until MPI_Finalize (1) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void use(MPI_Comm comm) {
  int rank, size, sum = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != size * (size - 1) / 2) {
    fprintf(stderr, "churn: WRONG sum %d of %d ranks\n", sum, size);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, rounds = argc > 1 ? atoi(argv[1]) : 40, many = argc > 2 ? atoi(argv[2]) : 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm a, b, c;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_idup(MPI_COMM_WORLD, &b, &request);
    use(a);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? rank % 2 : 0, -rank, &c);
    use(c);
    use(b);
    MPI_Comm_free(i % 2 ? &a : &b);
    MPI_Comm_free(&c);
    MPI_Comm_free(i % 2 ? &b : &a);
  }
  for (int i = 0; i < many; ++i) {
    MPI_Comm kept;
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    use(kept);
  }
  if (0 == rank) printf("churn: %d rounds passed\n", rounds);
  MPI_Finalize();
  return 0;
}
