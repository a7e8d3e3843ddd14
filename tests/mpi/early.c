/* A program frees communicators, types and operations before the collectives that use them have ended, as MPI allows. The
 * arguments choose:
 *   threads     MPI_THREAD_MULTIPLE; the first argument
 *   pending     a communicator under nonblocking collectives; another one takes its place at once
 *   started     a communicator under a persistent collective that is started
 *   inactive    a communicator under a persistent collective that is started afterwards
 *   disconnect  MPI_Comm_disconnect under a nonblocking collective
 *   types       derived types and a user's operation, under nonblocking and persistent collectives
 *   tree        a communicator under what a tree between hosts may carry, and nothing else
 *   left        a communicator under a persistent collective that still exists in MPI_Finalize
 *   beside      persistent collectives, more than one communicator has lanes for, and scans, in one MPI_Waitall
 * Prints "early: WHAT right on N ranks". */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

enum { ROUNDS = 40, LARGE = 2000, KINDS = 6, LANES = 20 };

static int rank, size;

static void expect(const char* what, int round, long got, long want) {
  if (got == want) return;
  fprintf(stderr, "early: rank %d: round %d: %s is %ld, not %ld\n", rank, round, what, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Returns a communicator of all ranks that has done a blocking collective. */
static MPI_Comm used_one(void) {
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Barrier(made);
  return made;
}

/* An implementation may give this one all that a freed one has had. */
static void take_its_place(int round) {
  if (round % 2) return;
  MPI_Comm other = used_one();
  MPI_Comm_free(&other);
}

static long sum_of_ranks(void) { return (long)size * (size - 1) / 2; }

static void pending(void) {
  static long in[KINDS][LARGE * 64], out[KINDS][LARGE * 64];
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm = used_one();
    MPI_Request requests[KINDS];
    const int n = round % 2 ? 3 : LARGE;
    for (int i = 0; i < n * size; ++i)
      for (int k = 0; k < KINDS; ++k) in[k][i] = rank + i + round, out[k][i] = -1;
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(in[1], out[1], n, MPI_LONG, MPI_SUM, comm, &requests[1]);
    MPI_Ibcast(rank ? out[2] : in[2], n, MPI_LONG, 0, comm, &requests[2]);
    MPI_Iallgather(in[3], n, MPI_LONG, out[3], n, MPI_LONG, comm, &requests[3]);
    MPI_Ialltoall(in[4], n, MPI_LONG, out[4], n, MPI_LONG, comm, &requests[4]);
    MPI_Ireduce(in[5], out[5], n, MPI_LONG, MPI_MAX, size - 1, comm, &requests[5]);
    MPI_Comm_free(&comm);
    take_its_place(round);
    MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i) {
      expect("a sum", round, out[1][i], sum_of_ranks() + (long)size * (i + round));
      if (rank > 0) expect("a broadcast", round, out[2][i], i + round);
      if (rank == size - 1) expect("a maximum", round, out[5][i], size - 1 + i + round);
      for (int r = 0; r < size; ++r) {
        expect("a gathered block", round, out[3][r * n + i], r + i + round);
        expect("an exchanged block", round, out[4][r * n + i], r + rank * n + i + round);
      }
    }
  }
}

static void persistent(int is_started) {
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm = used_one();
    MPI_Request request;
    long in = rank + round, out = -1;
    INIT(Allreduce_init)(&in, &out, 1, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &request);
    if (is_started) MPI_Start(&request);
    MPI_Comm_free(&comm);
    take_its_place(round);
    for (int again = 0; again < 3; ++again) {
      if (!is_started || again > 0) {
        out = -1;
        MPI_Start(&request);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect("a sum", round, out, sum_of_ranks() + (long)size * round);
    }
    MPI_Request_free(&request);
  }
}
static void started(void) { persistent(1); }
static void inactive(void) { persistent(0); }

static void disconnect(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm = used_one();
    MPI_Request request;
    long in = rank + round, out = -1;
    MPI_Iallreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm, &request);
    MPI_Comm_disconnect(&comm);
    expect("the handle is null", round, MPI_COMM_NULL == comm, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect("a sum", round, out, sum_of_ranks() + (long)size * round);
  }
}

/* Adds pairs of numbers with a gap between them. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int k = 0; k < 3; k += 2) ((int*)inout)[4 * i + k] += ((int*)in)[4 * i + k];
}

static void types(void) {
  enum { COUNT = 50 };
  static int in[4 * COUNT], out[2][4 * COUNT];
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Comm comm = used_one();
    MPI_Datatype pair, spaced;
    MPI_Op own;
    MPI_Request requests[2];
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(add, 1, &own);
    for (int i = 0; i < 4 * COUNT; ++i) in[i] = rank + i + round, out[0][i] = out[1][i] = -1;
    MPI_Iallreduce(in, out[0], COUNT, spaced, own, comm, &requests[0]);
    INIT(Allreduce_init)(in, out[1], COUNT, spaced, own, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Type_free(&spaced);
    MPI_Type_free(&pair);
    MPI_Op_free(&own);
    MPI_Comm_free(&comm);
    take_its_place(round);
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[1]);
    for (int k = 0; k < 2; ++k)
      for (int i = 0; i < 4 * COUNT; ++i)
        expect("a number", round, out[k][i], i % 2 ? -1 : sum_of_ranks() + (long)size * (i + round));
  }
}

static void tree(void) {
  for (int round = 0; round < ROUNDS / 4; ++round) { /* each takes a group of the tree */
    MPI_Comm comm = used_one();
    MPI_Request requests[3];
    long in = rank + round, out = -1, data = 0 == rank ? round : -1;
    MPI_Iallreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm, &requests[0]);
    MPI_Ibarrier(comm, &requests[1]);
    MPI_Ibcast(&data, 1, MPI_LONG, 0, comm, &requests[2]);
    MPI_Comm_free(&comm);
    take_its_place(round);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect("a sum", round, out, sum_of_ranks() + (long)size * round);
    expect("a broadcast", round, data, round);
  }
}

static void left(void) {
  static long in, out;
  MPI_Comm comm = used_one();
  MPI_Request request;
  INIT(Allreduce_init)(&in, &out, 1, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &request);
  MPI_Comm_free(&comm);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void beside(void) {
  enum { SCANS = 2, ALL = LANES + SCANS + 3 };
  int in[ALL], out[ALL];
  MPI_Request requests[ALL];
  MPI_Status statuses[ALL];
  for (int i = 0; i < LANES; ++i)
    INIT(Allreduce_init)(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  for (int i = LANES; i < LANES + SCANS; ++i)
    INIT(Scan_init)(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < ALL; ++i) in[i] = rank + i + round, out[i] = -1;
    MPI_Irecv(&out[ALL - 2], 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[ALL - 2]);
    MPI_Startall(LANES + SCANS, requests);
    MPI_Iallreduce(&in[ALL - 3], &out[ALL - 3], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[ALL - 3]);
    MPI_Isend(&in[ALL - 1], 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[ALL - 1]);
    expect("the answer of MPI_Waitall", round, MPI_Waitall(ALL, requests, round % 2 ? statuses : MPI_STATUSES_IGNORE),
           MPI_SUCCESS);
    for (int i = 0; i < ALL - 2; ++i) {
      const long scan = (long)rank * (rank + 1) / 2 + (long)(rank + 1) * (i + round);
      const long all = sum_of_ranks() + (long)size * (i + round);
      expect("a sum", round, out[i], i >= LANES && i < LANES + SCANS ? scan : all);
    }
    expect("a message", round, out[ALL - 2], (rank + size - 1) % size + ALL - 1 + round);
    if (round % 2) expect("the message's source", round, statuses[ALL - 2].MPI_SOURCE, (rank + size - 1) % size);
  }
  for (int i = 0; i < LANES + SCANS; ++i) MPI_Request_free(&requests[i]);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"pending", pending}, {"started", started}, {"inactive", inactive}, {"disconnect", disconnect},
               {"types", types},     {"tree", tree},       {"left", left},         {"beside", beside}};
  const int threads = argc > 1 && 0 == strcmp(argv[1], "threads");
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (threads) expect("the level of threads", 0, level, MPI_THREAD_MULTIPLE);
  for (int a = 1; a < argc; ++a)
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
      if (0 == strcmp(argv[a], cases[i].name)) {
        cases[i].run();
        if (0 == rank) printf("early: %s right on %d ranks\n", argv[a], size);
      }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
