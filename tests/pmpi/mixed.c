/* Requests of collectives and of messages mixed in every function that completes requests: nonblocking and persistent
 * collectives, receives, a generalized request of the program's own, MPI_REQUEST_NULL and inactive requests. Every rank
 * checks every value. Prints "mixed: N rounds right". */
#include <mpi.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#endif

#include <stdio.h>
#include <stdlib.h>

enum { SUM, MESSAGE, PERSISTENT_SUM, BARRIER, OWN, NOTHING, PERSISTENT_BCAST, SENT, REQUESTS };

static int rank, size, rounds;
static MPI_Request requests[REQUESTS];
static MPI_Status statuses[REQUESTS];
static int in, sum, persistent_in, persistent_sum, persistent_data, message;

static void expect(const char* what, int got, int want) {
  if (got != want) {
    fprintf(stderr, "mixed: rank %d: round %d: %s is %d, not %d\n", rank, rounds, what, got, want);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int freed(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancelled(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void begin(void) {
  static int elements = 3;
  in = rank + rounds, sum = -1, persistent_in = 2 * rank + rounds, persistent_sum = -1, message = -1;
  persistent_data = 0 == rank ? 7 * rounds : -1;
  requests[NOTHING] = MPI_REQUEST_NULL;
  MPI_Irecv(&message, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &requests[MESSAGE]);
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[SUM]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[BARRIER]);
  MPI_Isend(&rounds, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, &requests[SENT]);
  MPI_Grequest_start(query, freed, cancelled, &elements, &requests[OWN]);
  /* Each rank starts its persistent collectives in its own order. */
  if (0 == (rank + rounds) % 2) {
    MPI_Start(&requests[PERSISTENT_BCAST]);
    MPI_Start(&requests[PERSISTENT_SUM]);
  } else {
    MPI_Request both[] = {requests[PERSISTENT_SUM], requests[PERSISTENT_BCAST]};
    MPI_Startall(2, both);
  }
  MPI_Grequest_complete(requests[OWN]);
}

static void end(void) {
  expect("the sum", sum, size * (size - 1) / 2 + size * rounds);
  expect("the persistent sum", persistent_sum, size * (size - 1) + size * rounds);
  expect("the persistent broadcast", persistent_data, 7 * rounds);
  expect("the message", message, rounds);
  for (int i = 0; i < REQUESTS; ++i) {
    int persistent = PERSISTENT_SUM == i || PERSISTENT_BCAST == i;
    expect("a handle is null", MPI_REQUEST_NULL == requests[i], !persistent);
  }
  ++rounds;
}

static void by_wait(void) {
  for (int i = 0; i < REQUESTS; ++i) MPI_Wait(&requests[(i + rank) % REQUESTS], MPI_STATUS_IGNORE);
}
static void by_test(void) {
  for (int left = REQUESTS; left > 0;) {
    left = 0;
    for (int i = 0; i < REQUESTS; ++i) {
      int done = 0;
      MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
      left += !done;
    }
  }
}
static void by_waitall(void) {
  MPI_Waitall(REQUESTS, requests, statuses);
  int elements = -1;
  MPI_Get_elements(&statuses[OWN], MPI_INT, &elements);
  expect("elements of the program's own request", elements, 3);
}
static void by_testall(void) {
  for (int done = 0; !done;) MPI_Testall(REQUESTS, requests, &done, MPI_STATUSES_IGNORE);
}
static void by_waitany(void) {
  int seen[REQUESTS] = {0}, index = 0, count = 0;
  for (;;) {
    MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
    if (MPI_UNDEFINED == index) break;
    expect("a request completed before", seen[index]++, 0);
    ++count;
  }
  expect("requests completed by MPI_Waitany", count, REQUESTS - 1);
}
static void by_testany(void) {
  for (int count = 0; count < REQUESTS - 1;) {
    int index = -1, done = 0;
    MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE);
    if (done) expect("MPI_Testany's index is undefined", MPI_UNDEFINED == index, 0);
    count += done;
  }
  int index = -1, done = 0;
  MPI_Testany(REQUESTS, requests, &index, &done, MPI_STATUS_IGNORE);
  expect("MPI_Testany's flag of inactive requests", done, 1);
  expect("MPI_Testany's index of inactive requests", index, MPI_UNDEFINED);
}
static void by_waitsome(void) {
  int indices[REQUESTS], count = 0, all = 0;
  for (;; all += count) {
    MPI_Waitsome(REQUESTS, requests, &count, indices, statuses);
    if (MPI_UNDEFINED == count) break;
  }
  expect("requests completed by MPI_Waitsome", all, REQUESTS - 1);
}
static void by_testsome(void) {
  int indices[REQUESTS], count = 0, all = 0;
  for (; all < REQUESTS - 1; all += count) MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
  expect("MPI_Testsome of inactive requests", count, MPI_UNDEFINED);
}
static void by_get_status(void) {
  for (int i = 0; i < REQUESTS; ++i) {
    for (int done = 0; !done;) MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
  }
  by_waitall();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void (*const ways[])(void) = {by_wait,    by_test,     by_waitall,  by_testall,   by_waitany,
                                by_testany, by_waitsome, by_testsome, by_get_status};
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Allreduce_init(&persistent_in, &persistent_sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[PERSISTENT_SUM]);
  MPI_Bcast_init(&persistent_data, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[PERSISTENT_BCAST]);
  for (int i = 0; i < 20 * (int)(sizeof(ways) / sizeof(ways[0])); ++i) {
    begin();
    ways[i % (int)(sizeof(ways) / sizeof(ways[0]))]();
    end();
  }
  MPI_Request_free(&requests[PERSISTENT_SUM]);
  MPI_Request_free(&requests[PERSISTENT_BCAST]);
  expect("a freed handle is null", MPI_REQUEST_NULL == requests[PERSISTENT_SUM], 1);
  /* Outside MPI, or inside a call that this library does not know, a collective advances all the same. */
  MPI_Request late;
  in = 1;
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &late);
  if (0 == rank) {
    for (int i = 1; i < size; ++i) MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
  expect("the last sum", sum, size);
  if (0 == rank) printf("mixed: %d rounds right\n", rounds);
  MPI_Finalize();
  return 0;
}
