/* Correct programs that once hung, crashed or got wrong numbers. The first argument chooses one:
 *   uneven   reductions of all ranks around the sizes at which Open MPI changes its algorithm, in place and not, blocking and not,
 *            and blocks that each rank describes by a type of its own; for hosts with unequal numbers of ranks, above all with one
 *   holes    communicators freed before others are used that MPI_Finalize must free: one made later has the lower context id
 *   orders   persistent collectives started in another order at each rank, some before an ordinary collective and some after it
 *   idup     MPI_Comm_idup pending while its communicator has blocking collectives, at some ranks after calls that make progress
 *   inter [N]  MPI_Comm_idup, N at once, of an intercommunicator between collectives on it */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

static int rank, size;

static void fail(const char* what, int index) {
  fprintf(stderr, "defects: rank %d: WRONG %s, element %d\n", rank, what, index);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static long long sum_of_ranks(void) { return (long long)size * (size - 1) / 2; }

/* ---- uneven ---- */

enum { LARGEST = 70000 };
static long long in[LARGEST], out[LARGEST];

static void fill(int count, int round) {
  for (int i = 0; i < count; ++i) in[i] = out[i] = (long long)rank + i + round;
}
static void check(const char* what, int count, int round, int by_sum) {
  for (int i = 0; i < count; ++i) {
    long long least = i + round;
    if (out[i] != (by_sum ? sum_of_ranks() + size * least : least)) fail(what, i);
  }
}

static void reduce_all(int count, int round) {
  MPI_Request request;
  fill(count, round);
  MPI_Allreduce(in, out, count, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  check("allreduce", count, round, 0);
  fill(count, round);
  MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  check("allreduce in place", count, round, 1);
  fill(count, round);
  MPI_Iallreduce(in, out, count, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("iallreduce", count, round, 1);
  for (int root = 0; root < size; ++root) {
    fill(count, round);
    const void* from = rank == root && root % 2 ? MPI_IN_PLACE : in;
    MPI_Reduce(from, out, count, MPI_LONG_LONG, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank == root) check("reduce", count, round, 1);
  }
}

/* Each rank has 2 * (r + 1) numbers; odd ranks treat them as pairs. */
static void gather_in_pairs(void) {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_LONG_LONG, &pair);
  MPI_Type_commit(&pair);
  const int odd = rank % 2;
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* displacements = malloc(sizeof(int) * (size_t)size);
  int all = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (r + 1) * (odd ? 1 : 2);
    displacements[r] = all;
    all += counts[r];
  }
  for (int i = 0; i < 2 * (rank + 1); ++i) in[i] = 1000 * rank + i;
  MPI_Datatype type = odd ? pair : MPI_LONG_LONG;
  MPI_Allgatherv(in, counts[rank], type, out, counts, displacements, type, MPI_COMM_WORLD);
  for (int r = 0, at = 0; r < size; ++r)
    for (int i = 0; i < 2 * (r + 1); ++i, ++at)
      if (out[at] != 1000 * r + i) fail("allgatherv by types of one's own", at);
  free(counts);
  free(displacements);
  MPI_Type_free(&pair);
}

static void uneven(int unused) {
  (void)unused;
  const int counts[] = {1, 8191, 8192, 8193, 16385, LARGEST};
  for (int i = 0; i < 6; ++i) reduce_all(counts[i], i);
  gather_in_pairs();
}

/* ---- holes ---- */

static void holes(int unused) {
  (void)unused;
  enum { PAIRS = 16 };
  MPI_Comm early[PAIRS], late[PAIRS];
  for (int i = 0; i < PAIRS; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &early[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &late[i]);
  }
  for (int i = 0; i < PAIRS; ++i) MPI_Comm_free(&early[i]);
  for (int i = 0; i < PAIRS; ++i) {
    int own = rank + i, sum = -1;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, late[i]);
    if (sum != (int)sum_of_ranks() + i * size) fail("sum", i);
  }
}

/* ---- orders ---- */

enum { KINDS = 7, LENGTH = 300 };
static struct {
  int sum_in[LENGTH], sum[LENGTH];
  double max_in[5], max[5];
  int message[LENGTH];
  int* all;    /* [size] */
  int* blocks; /* [size] */
  int* dealt;  /* [size] */
  int reduced_in, reduced;
} lane;

static void make_all(MPI_Comm comm, MPI_Request* requests) {
  lane.all = malloc(sizeof(int) * (size_t)size);
  lane.blocks = malloc(sizeof(int) * (size_t)size);
  lane.dealt = malloc(sizeof(int) * (size_t)size);
  INIT(Allreduce_init)(lane.sum_in, lane.sum, LENGTH, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
  INIT(Allreduce_init)(lane.max_in, lane.max, 5, MPI_DOUBLE, MPI_MAX, comm, MPI_INFO_NULL, &requests[1]);
  INIT(Bcast_init)(lane.message, LENGTH, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[2]);
  INIT(Barrier_init)(comm, MPI_INFO_NULL, &requests[3]);
  INIT(Allgather_init)(&lane.reduced_in, 1, MPI_INT, lane.all, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[4]);
  INIT(Alltoall_init)(lane.blocks, 1, MPI_INT, lane.dealt, 1, MPI_INT, comm, MPI_INFO_NULL, &requests[5]);
  INIT(Reduce_init)(&lane.reduced_in, &lane.reduced, 1, MPI_INT, MPI_SUM, 0, comm, MPI_INFO_NULL, &requests[6]);
}

static void fill_all(int round) {
  for (int i = 0; i < LENGTH; ++i) {
    lane.sum_in[i] = rank + i + round;
    lane.sum[i] = -1;
    lane.message[i] = rank == size - 1 ? i ^ round : -1;
  }
  for (int i = 0; i < 5; ++i) lane.max_in[i] = rank * 0.5 + round;
  for (int r = 0; r < size; ++r) lane.blocks[r] = 100 * rank + r + round, lane.dealt[r] = lane.all[r] = -1;
  lane.reduced_in = rank + round;
}

static void check_all(int round) {
  for (int i = 0; i < LENGTH; ++i) {
    if (lane.sum[i] != (int)sum_of_ranks() + (i + round) * size) fail("persistent sum", i);
    if (lane.message[i] != (i ^ round)) fail("persistent message", i);
  }
  for (int i = 0; i < 5; ++i)
    if (lane.max[i] != (size - 1) * 0.5 + round) fail("persistent maximum", i);
  for (int r = 0; r < size; ++r) {
    if (lane.all[r] != r + round) fail("persistent allgather", r);
    if (lane.dealt[r] != 100 * r + rank + round) fail("persistent alltoall", r);
  }
  if (0 == rank && lane.reduced != (int)sum_of_ranks() + size * round) fail("persistent reduce", 0);
}

static void ordinary(MPI_Comm comm, int round) {
  int own = rank * round, sum = -1;
  MPI_Request request;
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Barrier(comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != (int)sum_of_ranks() * round) fail("ordinary sum", round);
}

static void use_in_orders(MPI_Comm comm, int rounds) {
  MPI_Request requests[KINDS];
  make_all(comm, requests);
  for (int round = 0; round < rounds; ++round) {
    fill_all(round);
    /* Rank r begins with request r + round, and makes an ordinary collective after so many. */
    for (int k = 0; k < KINDS; ++k) {
      if ((rank * 3 + round) % KINDS == k) ordinary(comm, round);
      int which = (rank % 2 ? KINDS - 1 - k : k) + rank / 2 + round;
      MPI_Start(&requests[which % KINDS]);
    }
    MPI_Waitall(KINDS, requests, MPI_STATUSES_IGNORE);
    check_all(round);
  }
  for (int k = 0; k < KINDS; ++k) MPI_Request_free(&requests[(k + rank) % KINDS]);
  free(lane.all);
  free(lane.blocks);
  free(lane.dealt);
}

static void orders(int unused) {
  (void)unused;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  use_in_orders(MPI_COMM_WORLD, 25);
  use_in_orders(comm, 25);
  use_in_orders(comm, 25);
  MPI_Comm_free(&comm);
}

/* ---- idup ---- */

static void idup(int unused) {
  (void)unused;
  MPI_Comm parent;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Barrier(parent);
  for (int round = 0; round < 12; ++round) {
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(parent, &made, &request);
    for (int i = 0, found; (rank + round) % 2 && i < 50; ++i)
      MPI_Iprobe(MPI_ANY_SOURCE, 99, parent, &found, MPI_STATUS_IGNORE);
    int own = rank + round, sum = -1;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, parent);
    if (sum != (int)sum_of_ranks() + round * size) fail("sum beside MPI_Comm_idup", round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
  }
  MPI_Comm_free(&parent);
}

/* ---- inter ---- */

/* Open MPI 4.1 alone sometimes hangs when several MPI_Comm_idup of one intercommunicator are pending at once, and
 * always when its groups are unequal; one at a time works. */
static void inter(int at_once) {
  enum { MOST = 64 };
  MPI_Comm half, between, made[MOST];
  MPI_Request requests[MOST];
  if (at_once < 1 || at_once > MOST) fail("number of duplicates at once", at_once);
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 5, &between);
  for (int round = 0; round < 20; ++round) {
    int one = 1, others = -1, theirs = -1;
    MPI_Comm_remote_size(between, &theirs);
    MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, between);
    if (others != theirs) fail("sum of the other group", round);
    MPI_Barrier(between);
    for (int i = 0; i < at_once; ++i) MPI_Comm_idup(between, &made[i], &requests[i]);
    MPI_Waitall(at_once, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < at_once; ++i) {
      MPI_Barrier(made[i]);
      MPI_Comm_free(&made[i]);
    }
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(int argument);
  } cases[] = {{"uneven", uneven}, {"holes", holes}, {"orders", orders}, {"idup", idup}, {"inter", inter}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; ++i) {
    if (0 == strcmp(argv[1], cases[i].name)) {
      cases[i].run(argc > 2 ? atoi(argv[2]) : 1);
      if (0 == rank) printf("defects: %s passed on %d ranks\n", argv[1], size);
      fflush(stdout);
      MPI_Finalize();
      return 0;
    }
  }
  fprintf(stderr, "defects: usage: defects uneven|holes|orders|idup|inter [N]\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 2;
}
