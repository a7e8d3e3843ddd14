/* MPI-4's functions with 64-bit counts and displacements. Blocks lie further apart than an int can say, at one rank alone,
 * in memory of which only they are touched; an MPI that has no such function has no such program. Results are compared.
 *
 * usage: wide */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { RANKS = 2, FAR_RANK = 1 };
static const MPI_Aint kFar = (MPI_Aint)INT32_MAX + 4097;

static int rank;

static char* memory(void) {
  char* at =
      mmap(NULL, (size_t)kFar + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (MAP_FAILED == at) {
    perror("wide: mmap");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return at;
}

static void must(int good, const char* what, int round) {
  if (!good) {
    fprintf(stderr, "wide: WRONG %s in round %d on rank %d\n", what, round, rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void fill(char* at, int count, int seed) {
  for (int i = 0; i < count; ++i) at[i] = (char)(seed * 31 + i % 97);
}
static int holds(const char* at, int count, int seed) {
  int good = 1;
  for (int i = 0; i < count; ++i) good &= at[i] == (char)(seed * 31 + i % 97);
  return good;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(RANKS == size, "number of ranks", -1);
  char *in = memory(), *out = memory();
  const MPI_Aint second = FAR_RANK == rank ? kFar : 10000;
  const MPI_Aint at[RANKS] = {0, second};
  MPI_Datatype gaps;
  MPI_Type_vector(1, 1, 1, MPI_CHAR, &gaps);
  MPI_Type_create_resized(gaps, 0, 2, &gaps);
  MPI_Type_commit(&gaps);
  for (int round = 0; round < 6; ++round) {
    /* counts[s][r]: from rank s to rank r. */
    const MPI_Count counts[RANKS][RANKS] = {{10 + round, 900}, {2000, 4000 + round}};
    const MPI_Count comes[RANKS] = {counts[0][rank], counts[1][rank]};
    const MPI_Count all[RANKS] = {700 + round, 5000};
    MPI_Request request;
    for (int r = 0; r < RANKS; ++r) fill(in + at[r], (int)counts[rank][r], 10 * rank + r + round);
    if (round % 2 == 0) {
      MPI_Alltoallv_c(in, counts[rank], at, MPI_CHAR, out, comes, at, MPI_CHAR, MPI_COMM_WORLD);
    } else {
      MPI_Ialltoallv_c(in, counts[rank], at, MPI_CHAR, out, comes, at, MPI_CHAR, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int s = 0; s < RANKS; ++s) must(holds(out + at[s], (int)comes[s], 10 * s + rank + round), "alltoallv", round);
    fill(in, (int)all[rank], rank + round);
    MPI_Allgatherv_c(in, all[rank], MPI_CHAR, out, all, at, MPI_CHAR, MPI_COMM_WORLD);
    for (int s = 0; s < RANKS; ++s) must(holds(out + at[s], (int)all[s], s + round), "allgatherv", round);
    /* A type with gaps is packed; its displacements are in elements of two bytes. */
    const MPI_Aint half[RANKS] = {0, second / 2};
    MPI_Gatherv_c(in, all[rank], MPI_CHAR, out, all, half, gaps, FAR_RANK, MPI_COMM_WORLD);
    for (int s = 0; s < RANKS && FAR_RANK == rank; ++s)
      for (int i = 0; i < all[s]; ++i)
        must(out[2 * half[s] + 2 * i] == (char)((s + round) * 31 + i % 97), "gatherv of a type with gaps", round);
    double one = 1, sum = 0;
    MPI_Allreduce_c(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    must(RANKS == sum, "allreduce", round);
  }
  if (0 == rank) puts("wide: 24 right");
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return 0;
}
