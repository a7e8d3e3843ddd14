/* Rank 0 completes its access to rank 1's window, and both meet in a barrier: then rank 1 sees it at its first look. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 100, ROOT = 0 };

static int look(MPI_Win window) {
  int is_over = 0;
  MPI_Win_test(window, &is_over);
  return is_over;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, seen = 0, wrong = 0, memory[8] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Group all, other;
  MPI_Win_get_group(window, &all);
  const int peer = 1 - rank;
  MPI_Group_incl(all, 1, &peer, &other);
  for (int i = 1; i <= ROUNDS; ++i) {
    if (rank == ROOT) {
      MPI_Win_start(other, 0, window);
      MPI_Put(&i, 1, MPI_INT, peer, 0, 1, MPI_INT, window);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Win_complete(window);
      MPI_Barrier(MPI_COMM_WORLD);
      continue;
    }
    MPI_Win_post(other, 0, window);
    wrong += look(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (look(window))
      ++seen;
    else
      MPI_Win_wait(window);
    wrong += memory[0] != i;
  }
  if (rank != ROOT) printf("windows: %d of %d seen at once, %d wrong\n", seen, ROUNDS, wrong);
  MPI_Group_free(&other);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
  MPI_Finalize();
  return rank != ROOT && (seen != ROUNDS || wrong != 0);
}
