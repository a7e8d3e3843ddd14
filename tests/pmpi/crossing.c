/* Nonblocking collectives over several hosts while a rank waits in a call of MPI that completes no request. In each round one
 * rank posts as the others do and then waits for messages that they send only when they have the collectives' results. So
 * its part must move on without it. Every rank checks every value.
 *
 *   crossing ROUNDS      prints "crossing: N rounds right"
 *   crossing ROUNDS die  the last rank kills itself in the middle of the rounds */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUM, BCAST, BARRIER, BLOCKS, REQUESTS };
enum { MOST = 1 << 15, TAG = 6 };

static int rank, size, round_now;
static long in[MOST], sum[MOST], data[MOST], *to_all, *from_all;
static MPI_Request requests[REQUESTS];

static void expect(const char* what, long got, long want) {
  if (got == want) return;
  fprintf(stderr, "crossing: rank %d: round %d: %s is %ld, not %ld\n", rank, round_now, what, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void post(int count, int root) {
  for (int i = 0; i < count; ++i) {
    in[i] = 3L * rank + i + round_now;
    data[i] = rank == root ? 5L * i + round_now : -1;
  }
  for (int i = 0; i < size; ++i) to_all[i] = 100L * rank + i + round_now;
  MPI_Iallreduce(in, sum, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &requests[SUM]);
  MPI_Ibcast(data, count, MPI_LONG, root, MPI_COMM_WORLD, &requests[BCAST]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[BARRIER]);
  MPI_Ialltoall(to_all, 1, MPI_LONG, from_all, 1, MPI_LONG, MPI_COMM_WORLD, &requests[BLOCKS]); /* no tree does it */
}

static void check(int count) {
  for (int i = 0; i < count; ++i) {
    expect("a sum", sum[i], 3L * size * (size - 1) / 2 + (long)size * (i + round_now));
    expect("an element of the broadcast", data[i], 5L * i + round_now);
  }
  for (int i = 0; i < size; ++i) expect("a block", from_all[i], 100L * i + rank + round_now);
}

/* Waits without any request for a message from each other rank. */
static void wait_for_messages(void) {
  for (int i = 1; i < size; ++i) {
    int got = -1;
    MPI_Status status;
    if (0 == round_now % 2) {
      MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
    } else {
      MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
      MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, &status);
    }
    expect("a message", got, round_now);
  }
}

static void complete(void) {
  MPI_Status statuses[REQUESTS];
  int index = 0, done = 0;
  switch (round_now % 3) {
    case 0: MPI_Waitall(REQUESTS, requests, statuses); break;
    case 1:
      for (int i = 0; i < REQUESTS; ++i) MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
      break;
    default:
      for (int i = 0; i < REQUESTS; ++i)
        for (done = 0; !done;) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < REQUESTS; ++i) expect("a handle is null", MPI_REQUEST_NULL == requests[i], 1);
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 700, MOST};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 12;
  to_all = calloc((size_t)size, sizeof(long)), from_all = calloc((size_t)size, sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  for (; round_now < rounds; ++round_now) {
    const int count = counts[round_now % 3], waits = round_now % size;
    post(count, (round_now + 1) % size);
    if (argc > 2 && 0 == strcmp(argv[2], "die") && round_now == rounds / 2 && rank == size - 1) raise(SIGKILL);
    if (rank == waits) wait_for_messages();
    complete();
    if (rank != waits) MPI_Send(&round_now, 1, MPI_INT, waits, TAG, MPI_COMM_WORLD);
    check(count);
  }
  if (0 == rank) printf("crossing: %d rounds right\n", rounds);
  fflush(stdout); /* Some MPIs do not come out of MPI_Finalize. */
  free(to_all), free(from_all);
  MPI_Finalize();
  return 0;
}
