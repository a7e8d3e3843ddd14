/* Corners of MPI's rules on collectives, communicators and finalisation that correct programs may use: corners
 * [NAME], or all of them without a name. Each works with Open MPI alone. Sections are those of MPI 3.1. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

static int rank, size;

static void fail(const char* what, int got, int want) {
  fprintf(stderr, "corners: rank %d: WRONG %s: %d, not %d\n", rank, what, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}
static void expect(const char* what, int got, int want) {
  if (got != want) fail(what, got, want);
}
static int sum_of_ranks(void) { return size * (size - 1) / 2; }

static void use(const char* what, MPI_Comm comm) {
  int own = 1, sum = -1, members;
  MPI_Comm_size(comm, &members);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(what, sum, members);
}

/* Collectives of different communicators have no order: one rank has begun to duplicate a communicator when it comes
 * to another one's first collective, the other rank begins after it (5.12, 6.4.2). */
static void elsewhere(void) {
  MPI_Comm parent, other, made;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (rank % 2) MPI_Comm_idup(parent, &made, &request);
  use("first sum beside a duplication", other);
  if (0 == rank % 2) MPI_Comm_idup(parent, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use("sum of the duplicate", made);
  MPI_Comm_free(&made);
  MPI_Comm_free(&other);
  MPI_Comm_free(&parent);
}

static void add_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 2 * *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Types and operations are freed while a collective that uses them is pending (4.1.9, 5.9.5). */
static void freed_handles(void) {
  MPI_Datatype pair, gaps;
  MPI_Op add;
  MPI_Request requests[2];
  int in[20], out[20], data[40];
  for (int i = 0; i < 20; ++i) in[i] = rank + i, out[i] = -1;
  for (int i = 0; i < 40; ++i) data[i] = 0 == rank ? i : -1;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(10, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&pair);
  MPI_Type_commit(&gaps);
  MPI_Op_create(add_pairs, 1, &add);
  MPI_Iallreduce(in, out, 10, pair, add, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibcast(data, 1, gaps, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&pair);
  MPI_Type_free(&gaps);
  MPI_Op_free(&add);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 20; ++i) expect("sum of pairs", out[i], sum_of_ranks() + i * size);
  for (int i = 0; i < 20; i += 2) expect("number behind a gap", data[i], i);
}

/* There are no data and no buffer: at all ranks, and at one rank of a v-form (5.1). */
static void nothing(void) {
  int* counts = calloc((size_t)size, sizeof(int));
  int* displacements = calloc((size_t)size, sizeof(int));
  int* all = calloc((size_t)size, sizeof(int));
  for (int r = 1; r < size; ++r) counts[r] = 1, displacements[r] = r;
  MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(NULL, 0, MPI_INT, size - 1, MPI_COMM_WORLD);
  MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(0 == rank ? NULL : &rank, counts[rank], MPI_INT, all, counts, displacements, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < size; ++r) expect("block of those who have one", all[r], r);
  memset(counts, 0, sizeof(int) * (size_t)size);
  MPI_Alltoallv(NULL, counts, displacements, MPI_INT, NULL, counts, displacements, MPI_INT, MPI_COMM_WORLD);
  MPI_Allgatherv(NULL, 0, MPI_INT, NULL, counts, displacements, MPI_INT, MPI_COMM_WORLD);
  free(counts);
  free(displacements);
  free(all);
}

/* Each rank posts on three communicators in an order of its own among them, and completes in another (5.12). */
static void interleaved(void) {
  enum { COMMS = 3, EACH = 20, ALL = COMMS * EACH };
  MPI_Comm comms[COMMS];
  MPI_Request requests[ALL];
  int in[ALL], out[ALL], next[COMMS] = {0, 0, 0};
  for (int c = 0; c < COMMS; ++c) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    use("sum before", comms[c]);
  }
  for (int posted = 0, c = rank; posted < ALL; c = c + 1 + (posted + rank) % 2) {
    const int comm = c % COMMS;
    if (EACH == next[comm]) continue;
    const int at = comm * EACH + next[comm]++;
    in[at] = rank + at;
    MPI_Iallreduce(&in[at], &out[at], 1, MPI_INT, MPI_SUM, comms[comm], &requests[at]);
    ++posted;
  }
  for (int left = ALL; left > 0; --left) {
    int at = left * (rank + 1) % ALL;
    if (rank % 2) MPI_Waitany(ALL, requests, &at, MPI_STATUS_IGNORE);
    while (0 == rank % 2 && MPI_REQUEST_NULL == requests[at]) at = (at + 1) % ALL;
    if (0 == rank % 2) MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    expect("interleaved sum", out[at], sum_of_ranks() + size * at);
  }
  for (int c = 0; c < COMMS; ++c) MPI_Comm_free(&comms[c]);
}

/* MPI_Request_get_status and MPI_Test alone complete a collective; requests that are not started, or over, test as
 * empty (3.7.3, 3.7.6). */
static void only_tested(void) {
  int own = rank, sum = -1, done = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  while (!done) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  expect("request after its test", MPI_REQUEST_NULL == request && done, 1);
  expect("tested sum", sum, sum_of_ranks());
  INIT(Allreduce_init)(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int round = 0; round < 3; ++round) {
    MPI_Test(&request, &done, &status);
    expect("test of what is not started", done && MPI_ANY_SOURCE == status.MPI_SOURCE, 1);
    sum = -1;
    MPI_Start(&request);
    for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    expect("sum started again", sum, sum_of_ranks());
  }
  MPI_Request_free(&request);
}

/* Collectives that are pending at the same time read one buffer (5.12). */
static void shared_input(void) {
  enum { COUNT = 9000 };
  static int in[COUNT], sum[COUNT], least[COUNT];
  MPI_Request requests[2];
  for (int i = 0; i < COUNT; ++i) in[i] = rank + i;
  MPI_Iallreduce(in, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(in, least, COUNT, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < COUNT; ++i) {
    expect("sum of a shared buffer", sum[i], sum_of_ranks() + i * size);
    expect("least of a shared buffer", least[i], i);
  }
}

/* A communicator outlives its parent, whose team may exist already or not (6.4.3). */
static void orphans(void) {
  MPI_Comm parent, child, grandchild;
  for (int used = 0; used < 2; ++used) {
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    if (used) use("sum of the parent", parent);
    MPI_Comm_split(parent, rank % 2, -rank, &child);
    MPI_Comm_free(&parent);
    MPI_Comm_dup(child, &grandchild);
    use("sum of an orphan", child);
    MPI_Comm_free(&child);
    use("sum of its child", grandchild);
    MPI_Comm_free(&grandchild);
  }
}

/* A communicator of one rank is used in all three forms, and one that most ranks are not in. */
static void alone(void) {
  MPI_Comm own, few;
  MPI_Request requests[2];
  int in = rank, out = -1, again = -1;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Comm_split(MPI_COMM_WORLD, 0 == rank || size - 1 == rank ? 0 : MPI_UNDEFINED, -rank, &few);
  use("sum of one", own);
  MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, own, &requests[0]);
  INIT(Allreduce_init)(&in, &again, 1, MPI_INT, MPI_MAX, own, MPI_INFO_NULL, &requests[1]);
  MPI_Start(&requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[1]);
  expect("nonblocking sum of one", out, rank);
  expect("persistent maximum of one", again, rank);
  MPI_Comm_free(&own);
  if (MPI_COMM_NULL == few) return;
  use("sum of two far ranks", few);
  MPI_Comm_free(&few);
}

/* Topologies may reorder ranks, and slices are cut from them (7.5). */
static void grid(void) {
  MPI_Comm cart, row;
  int dims[2] = {0, 0}, periods[2] = {1, 0}, remain[2] = {0, 1}, coords[2], me, sum = -1;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
  MPI_Cart_sub(cart, remain, &row);
  MPI_Comm_rank(cart, &me);
  MPI_Cart_coords(cart, me, 2, coords);
  use("sum of a grid", cart);
  MPI_Allreduce(&coords[0], &sum, 1, MPI_INT, MPI_SUM, row);
  expect("sum of a row", sum, coords[0] * dims[1]);
  MPI_Comm_free(&cart);
  use("row without its grid", row);
  MPI_Comm_free(&row);
}

static int delete_calls;
static int say_last_words(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)extra;
  ++delete_calls;
  use("sum in a callback", NULL == value ? comm : *(MPI_Comm*)value);
  return MPI_SUCCESS;
}

/* The callback that deletes an attribute uses the communicator that is being freed (6.7.2). Nothing of that is left to a communicator
 * with the same handle: rank 0 takes the handle for itself, so that the next one of all has it at the other ranks alone. */
static void last_words(void) {
  MPI_Comm comm, copy, own = MPI_COMM_NULL, next;
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, say_last_words, &key, NULL);
  MPI_Comm_set_attr(comm, key, NULL);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&key);
  expect("calls of callbacks", delete_calls, 2);
  if (0 == rank) MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &next);
  use("sum of the next one", next);
  MPI_Comm_free(&next);
  if (0 == rank) MPI_Comm_free(&own);
}

#ifndef OPEN_MPI
static int say_last_ints(MPI_Datatype type, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  int data[2] = {rank, rank};
  ++delete_calls;
  MPI_Bcast(data, 1, type, 1, MPI_COMM_WORLD);
  expect("int in a type's callback", data[1], 1);
  return MPI_SUCCESS;
}

/* The same of a type (6.7.4), where the MPI can: Open MPI counts the type's users once more and frees it again without end. One
 * attribute is older than its first collective, the other younger. The next type has its handle, and another layout. */
static void last_ints(void) {
  MPI_Datatype pair, next;
  int key, younger, data[4] = {rank, rank, rank, rank};
  delete_calls = 0;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, say_last_ints, &key, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, say_last_ints, &younger, NULL);
  MPI_Type_set_attr(pair, key, NULL);
  MPI_Bcast(data, 1, pair, 0, MPI_COMM_WORLD);
  expect("int of a pair", data[1], 0);
  MPI_Type_set_attr(pair, younger, NULL);
  MPI_Type_free(&pair);
  expect("calls of a type's callbacks", delete_calls, 2);
  MPI_Type_vector(2, 1, 2, MPI_INT, &next);
  MPI_Type_commit(&next);
  for (int i = 0; i < 4; ++i) data[i] = rank;
  MPI_Bcast(data, 1, next, 1, MPI_COMM_WORLD);
  expect("int before the gap", data[0], 1);
  expect("int in the gap", data[1], rank);
  expect("int behind the gap", data[2], 1);
  MPI_Type_free(&next);
  MPI_Type_free_keyval(&key);
  MPI_Type_free_keyval(&younger);
}
#endif

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while all of MPI works (8.7.1). Communicators are left
 * over: one with a completed nonblocking collective, and one whose only collective was nonblocking. */
static void at_finalize(void) {
  static MPI_Comm used, fresh, early;
  static int sum, own = 1, keys[2];
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &used);
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  MPI_Comm_dup(MPI_COMM_WORLD, &early);
  use("sum long before the end", used);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say_last_words, &keys[0], NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, say_last_words, &keys[1], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], &used);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], &fresh);
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, early, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect("sum of a communicator's only collective", sum, size);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } corners[] = {{"elsewhere", elsewhere},
                 {"freed_handles", freed_handles},
                 {"nothing", nothing},
                 {"interleaved", interleaved},
                 {"only_tested", only_tested},
                 {"shared_input", shared_input},
                 {"orphans", orphans},
                 {"alone", alone},
                 {"grid", grid},
                 {"last_words", last_words},
#ifndef OPEN_MPI
                 {"last_ints", last_ints},
#endif
                 {"at_finalize", at_finalize}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int done = 0;
  for (size_t i = 0; i < sizeof corners / sizeof corners[0]; ++i) {
    if (argc > 1 && 0 != strcmp(argv[1], corners[i].name)) continue;
    corners[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    ++done;
  }
  if (0 == done) fail("name of a corner", 0, 1);
  if (0 == rank) printf("corners: %d passed on %d ranks\n", done, size);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
