/* Collectives of several kinds and forms on communicators of the world's ranks, so that a communicator becomes worth a
 * team in the middle. Before each call one rank alone makes a call that the MPI turns away at that rank: it must not
 * count, for the others know nothing of it. All results are compared.
 *
 * usage: worth CALLS [COMMUNICATORS]     CALLS collectives on each */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void must(int good, const char* what, int call) {
  if (!good) {
    fprintf(stderr, "worth: WRONG %s in call %d on rank %d\n", what, call, rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static void refused(MPI_Comm comm, int call) {
  int number = 0;
  if (call % size == rank) {
    must(MPI_SUCCESS != MPI_Bcast(&number, 1, MPI_INT, size + 1, comm), "success of a wrong root", call);
  }
}

static void one(MPI_Comm comm, int call) {
  int root = call % size, mine = 100 * call + rank, got = -1, *all = malloc(sizeof(int) * (size_t)size);
  MPI_Request request;
  switch (call % 6) {
    case 0:
      MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_MAX, comm);
      must(100 * call + size - 1 == got, "allreduce", call);
      break;
    case 1: MPI_Barrier(comm); break;
    case 2:
      got = rank == root ? call : -1;
      MPI_Bcast(&got, 1, MPI_INT, root, comm);
      must(call == got, "bcast", call);
      break;
    case 3:
      MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, comm);
      for (int i = 0; i < size && rank == root; ++i) must(100 * call + i == all[i], "gather", call);
      break;
    case 4:
      MPI_Iallreduce(&mine, &got, 1, MPI_INT, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      must(100 * call * size + size * (size - 1) / 2 == got, "iallreduce", call);
      break;
    default:
      MPI_Reduce(&mine, &got, 1, MPI_INT, MPI_MIN, root, comm);
      must(rank != root || 100 * call == got, "reduce", call);
  }
  free(all);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int calls = atoi(argv[1]), many = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < many; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int call = 0; call < calls; ++call) {
      refused(comm, call);
      one(comm, call);
    }
    MPI_Comm_free(&comm);
  }
  if (0 == rank) printf("worth: %d calls on each of %d communicators right\n", calls, many);
  MPI_Finalize();
  return 0;
}
