/* A rank gives up being readable by other processes after some collectives, as programs do that hold keys. Started by
 * root, all ranks become an ordinary user first, whom the system then refuses that rank's memory. Results are compared.
 *
 * usage: keeps_secrets */
#define _GNU_SOURCE /* setresuid */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { COUNT = 1 << 18, ROUNDS = 8, SECRET_FROM = 4, NOBODY = 65534 };

static void must(int good, const char* what, int round) {
  if (!good) {
    fprintf(stderr, "keeps_secrets: WRONG %s in round %d\n", what, round);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, right = 0;
  double *in = calloc(2 * COUNT, sizeof(*in)), *out = calloc(2 * COUNT, sizeof(*out));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* A process that changes its user is not readable until it says so. */
  must(0 != geteuid() || (0 == setresuid(NOBODY, NOBODY, NOBODY) && 0 == prctl(PR_SET_DUMPABLE, 1)), "user", -1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS; ++round) {
    if (SECRET_FROM == round && 0 == rank) must(0 == prctl(PR_SET_DUMPABLE, 0), "prctl", round);
    for (int i = 0; i < COUNT; ++i) in[i] = rank + i % 7 + round;
    MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i) must(size * (size - 1) / 2 + size * (i % 7 + round) == out[i], "allreduce", round);
    MPI_Allreduce(MPI_IN_PLACE, in, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i) must(out[i] == in[i], "allreduce in place", round);
    for (int i = 0; i < COUNT; ++i) in[i] = 1 == rank ? i + round : -1;
    MPI_Bcast(in, COUNT, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; ++i) must(i + round == in[i], "bcast", round);
    for (int i = 0; i < size * (COUNT / size); ++i) in[i] = 10 * rank + i / (COUNT / size);
    MPI_Alltoall(in, COUNT / size, MPI_DOUBLE, out, COUNT / size, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < size * (COUNT / size); ++i) must(10 * (i / (COUNT / size)) + rank == out[i], "alltoall", round);
    right += 4;
  }
  if (0 == rank) printf("keeps_secrets: %d right\n", right);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
