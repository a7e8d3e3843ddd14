/* counted [ROUNDS [BARRIERS [full]]]: calls every collective in all forms, on communicators of several kinds, and prints how often this rank
 * called each and with how many bytes: "counted: RANK FUNCTION CALLS BYTES". A call on a communicator of one rank does not
 * count. In between it makes communicators and a window, for which an MPI calls collectives of its own.
 *
 * With `full` each call has data, except barriers: Open MPI ends most others by itself, before a component hears of them.
 *
 * The bytes of a call are what the rank gives, or gets where the root alone gives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

enum { kFunctionsMax = 64, kRanksMax = 64, kElements = 40000 };

static struct {
  const char* name;
  long calls, bytes;
} counts[kFunctionsMax];

static int rank, size, alone; /* They belong to the communicator in use. */
static MPI_Comm comm;
static int sent[kElements], got[kElements];
static int lengths[kRanksMax], begins[kRanksMax], byte_begins[kRanksMax];
static MPI_Datatype types[kRanksMax];
static MPI_Request request;

static void note(const char* function, long bytes) {
  int at = 0;
  if (alone) return;
  while (counts[at].name && 0 != strcmp(counts[at].name, function)) ++at;
  counts[at].name = function;
  counts[at].calls += 1;
  counts[at].bytes += bytes;
}

#define BLOCKING(function, bytes, ...) (note(#function, bytes), MPI_##function(__VA_ARGS__))
#define NONBLOCKING(function, bytes, ...) \
  (note(#function, bytes), MPI_##function(__VA_ARGS__, &request), MPI_Wait(&request, MPI_STATUS_IGNORE))
#define PERSISTENT(function, bytes, ...)                                                                \
  do {                                                                                                  \
    note(#function, bytes);                                                                             \
    INIT(function)(__VA_ARGS__, MPI_INFO_NULL, &request);                                               \
    for (int start = 0; start < 2; ++start) MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE); \
    MPI_Request_free(&request);                                                                         \
  } while (0)
/* All forms of a collective; its other arguments follow. */
#define ALL(Name, name, bytes, ...)                          \
  do {                                                       \
    BLOCKING(Name, bytes, __VA_ARGS__);                      \
    NONBLOCKING(I##name, bytes, __VA_ARGS__);                \
    if (!alone) PERSISTENT(Name##_init, bytes, __VA_ARGS__); \
  } while (0)

/* The same for those that Sumac leaves to the MPI. MPICH 4.0's own persistent collectives hang after a program has freed
 * any persistent request, without Sumac too: it takes the old request's memory as it is. */
#if defined(MPICH) && MPICH_NUMVERSION < 40100000
#define LEFT(Name, name, bytes, ...)          \
  do {                                        \
    BLOCKING(Name, bytes, __VA_ARGS__);       \
    NONBLOCKING(I##name, bytes, __VA_ARGS__); \
  } while (0)
#else
#define LEFT ALL
#endif

/* Every collective with `count` ints for each rank. */
static void every_collective(int count) {
  const long one = count * (long)sizeof(int), all = one * size;
  const int root = size - 1;
  for (int i = 0; i < size; ++i) {
    lengths[i] = count > 0 ? count - i % 2 : 0;
    begins[i] = i * count;
    byte_begins[i] = i * count * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  long own = lengths[rank] * (long)sizeof(int), every = 0;
  for (int i = 0; i < size; ++i) every += lengths[i] * (long)sizeof(int);
  ALL(Barrier, barrier, 0, comm);
  ALL(Allreduce, allreduce, one, sent, got, count, MPI_INT, MPI_SUM, comm);
  ALL(Reduce, reduce, one, sent, got, count, MPI_INT, MPI_SUM, root, comm);
  ALL(Bcast, bcast, one, got, count, MPI_INT, root, comm);
  ALL(Allgather, allgather, one, sent, count, MPI_INT, got, count, MPI_INT, comm);
  ALL(Allgatherv, allgatherv, own, sent, lengths[rank], MPI_INT, got, lengths, begins, MPI_INT, comm);
  ALL(Alltoall, alltoall, all, sent, count, MPI_INT, got, count, MPI_INT, comm);
  for (int i = 0; i < size; ++i) lengths[i] = count; /* the same between any two ranks */
  ALL(Alltoallv, alltoallv, all, sent, lengths, begins, MPI_INT, got, lengths, begins, MPI_INT, comm);
  LEFT(Alltoallw, alltoallw, all, sent, lengths, byte_begins, types, got, lengths, byte_begins, types, comm);
  for (int i = 0; i < size; ++i) lengths[i] = count > 0 ? count - i % 2 : 0;
  ALL(Reduce_scatter_block, reduce_scatter_block, all, sent, got, count, MPI_INT, MPI_SUM, comm);
  ALL(Reduce_scatter, reduce_scatter, every, sent, got, lengths, MPI_INT, MPI_SUM, comm);
  ALL(Scan, scan, one, sent, got, count, MPI_INT, MPI_SUM, comm);
  ALL(Exscan, exscan, one, sent, got, count, MPI_INT, MPI_SUM, comm);
  ALL(Gather, gather, one, sent, count, MPI_INT, got, count, MPI_INT, root, comm);
  ALL(Gatherv, gatherv, own, sent, lengths[rank], MPI_INT, got, lengths, begins, MPI_INT, root, comm);
  ALL(Scatter, scatter, one, sent, count, MPI_INT, got, count, MPI_INT, root, comm);
  ALL(Scatterv, scatterv, own, sent, lengths, begins, MPI_INT, got, lengths[rank], MPI_INT, root, comm);
}

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

/* Calls that Sumac leaves to the MPI, packs, or does in place. */
static void special_calls(void) {
  MPI_Op own_sum;
  MPI_Datatype pairs;
  MPI_Op_create(add, 1, &own_sum);
  MPI_Type_vector(10, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  ALL(Allreduce, allreduce, 40, sent, got, 10, MPI_INT, own_sum, comm);
  ALL(Bcast, bcast, 40, got, 1, pairs, 0, comm);
  ALL(Allreduce, allreduce, 40, MPI_IN_PLACE, got, 10, MPI_INT, MPI_SUM, comm);
  ALL(Allgather, allgather, 40, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, 10, MPI_INT, comm);
  ALL(Allreduce, allreduce, 4, sent, got, 1, MPI_INT, MPI_MAX, comm); /* Open MPI makes such calls for itself */
  const void* mine = 0 == rank ? MPI_IN_PLACE : (const void*)sent;
  BLOCKING(Gather, 40, mine, 10, MPI_INT, got, 10, MPI_INT, 0, comm);
  BLOCKING(Scatter, 40, got, 10, MPI_INT, 0 == rank ? MPI_IN_PLACE : (void*)sent, 10, MPI_INT, 0, comm);
  MPI_Type_free(&pairs);
  MPI_Op_free(&own_sum);
}

static void use(MPI_Comm with) {
  comm = with;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  alone = 1 == size;
}

/* The even ranks and the odd ones. */
static void between_groups(MPI_Comm halves, int is_odd) {
  MPI_Comm both;
  use(halves);
  MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, 1 - is_odd, 5, &both);
  alone = 0;
  int root = is_odd ? 0 : 0 == rank ? MPI_ROOT : MPI_PROC_NULL;
  BLOCKING(Barrier, 0, both);
  BLOCKING(Allreduce, 40, sent, got, 10, MPI_INT, MPI_SUM, both);
  BLOCKING(Bcast, MPI_PROC_NULL == root ? 0 : 40, got, 10, MPI_INT, root, both);
  MPI_Comm_free(&both);
}

/* An MPI may call collectives inside these functions; they are not the program's. */
static void make_and_free(void) {
  MPI_Comm copy, later;
  MPI_Win window;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  use(copy);
  NONBLOCKING(Iallreduce, 8, sent, got, 2, MPI_INT, MPI_SUM, comm); /* before there is a team */
  NONBLOCKING(Ibarrier, 0, comm);
  MPI_Comm_idup(copy, &later, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use(later);
  BLOCKING(Barrier, 0, comm);
  MPI_Win_create(got, sizeof(got), 1, MPI_INFO_NULL, copy, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Comm_free(&later);
  MPI_Comm_free(&copy);
}

int main(int argc, char** argv) {
  int world_rank, world_size;
  const int counted[] = {0, 1, 100, 2000};
  const long rounds = argc > 1 ? atol(argv[1]) : 1;
  const long barriers = argc > 2 ? atol(argv[2]) : 0;
  const int first = argc > 3 && 0 == strcmp(argv[3], "full");
  MPI_Comm halves;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &halves);
  for (long round = 0; round < rounds; ++round) {
    for (int i = first; i < 4; ++i) {
      use(MPI_COMM_WORLD);
      every_collective(counted[i]);
    }
    special_calls();
    use(halves);
    every_collective(30);
    use(MPI_COMM_SELF);
    every_collective(30);
    between_groups(halves, world_rank % 2);
    make_and_free();
  }
  use(MPI_COMM_WORLD);
  for (long i = 0; i < barriers; ++i) BLOCKING(Barrier, 0, comm);
  MPI_Comm_free(&halves);
  for (int i = 0; counts[i].name; ++i) {
    printf("counted: %d %s %ld %ld\n", world_rank, counts[i].name, counts[i].calls, counts[i].bytes);
  }
  MPI_Finalize();
  return 0;
}
