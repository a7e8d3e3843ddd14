/* Collectives of each form on memory of the heap, in a program that a sanitizer may be built into: two threads call MPI, each on a
 * communicator of its own. Prints "checked: right on N ranks".
 *
 * dlclose() closes nothing here, because a sanitizer's report names only modules that are still loaded when it is written. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, COUNT = 5000 };

static int ranks, rank;

struct work {
  MPI_Comm comm;
  int wrong;
};

int dlclose(void* module) {
  (void)module;
  return 0;
}

static void expect(struct work* work, int right) { work->wrong += !right; }

static void round_of(struct work* work, int round, int count) {
  int* in = malloc(sizeof(*in) * (size_t)count);
  int* out = malloc(sizeof(*out) * (size_t)count);
  int* all = malloc(sizeof(*all) * (size_t)ranks);
  for (int i = 0; i < count; ++i) {
    in[i] = rank + i + round;
  }
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, work->comm);
  for (int i = 0; i < count; ++i) {
    expect(work, out[i] == ranks * (ranks - 1) / 2 + ranks * (i + round));
  }
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Iallreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_MAX, work->comm, &requests[0]);
  MPI_Ibarrier(work->comm, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  for (int i = 0; i < count; ++i) {
    expect(work, in[i] == ranks - 1 + i + round);
  }
  in[0] = rank;
  MPI_Allgather(in, 1, MPI_INT, all, 1, MPI_INT, work->comm);
  for (int i = 0; i < ranks; ++i) {
    expect(work, all[i] == i);
  }
  out[0] = 0 == rank ? round : -1;
  MPI_Ibcast(out, count, MPI_INT, 0, work->comm, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  expect(work, out[0] == round);
  MPI_Barrier(work->comm);
  free(in);
  free(out);
  free(all);
}

static void* run(void* context) {
  struct work* work = context;
  for (int round = 0; round < ROUNDS; ++round) {
    round_of(work, round, 0 == round % 2 ? 3 : COUNT);
  }
  return NULL;
}

int main(int argc, char** argv) {
  struct work works[2] = {{0}};
  pthread_t other;
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
  }
  if (level == MPI_THREAD_MULTIPLE) {
    pthread_create(&other, NULL, run, &works[1]);
    run(&works[0]);
    pthread_join(other, NULL);
  } else {
    run(&works[0]);
    run(&works[1]);
  }
  int wrong = works[0].wrong + works[1].wrong;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_free(&works[i].comm);
  }
  if (0 == rank) {
    printf(0 == wrong ? "checked: right on %d ranks\n" : "checked: %d ranks, %d wrong\n", ranks, wrong);
  }
  MPI_Finalize();
  return 0 != wrong;
}
