/* MPI_THREAD_MULTIPLE: several threads, each with a communicator of its own, add up at the same time, sometimes
 * without blocking. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CALLS = 200 };

static void* add_up(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (long call = 0; call < CALLS; ++call) {
    long in[300], out[300];
    for (int i = 0; i < 300; ++i) in[i] = rank + call * i;
    if (2 == call % 3) {
      MPI_Request request;
      MPI_Iallreduce(in, out, 300, MPI_LONG, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Allreduce(in, out, 300, MPI_LONG, MPI_SUM, comm);
    }
    for (int i = 0; i < 300; ++i) {
      if (out[i] != size * call * i + (long)size * (size - 1) / 2) {
        fprintf(stderr, "threads: WRONG sum in call %ld\n", call);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
    if (0 == call % 10) MPI_Barrier(comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (MPI_THREAD_MULTIPLE != provided) {
    fprintf(stderr, "threads: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Comm comms[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, add_up, &comms[t]);
  for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
  for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&comms[t]);
  if (0 == rank) printf("threads: passed\n");
  MPI_Finalize();
  return 0;
}
