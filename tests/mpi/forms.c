/* Nine collectives, each blocking, nonblocking and persistent, in place and not, with every root, on several
 * communicators, with types that differ from rank to rank but have equal signature: an element here is four ints in
 * a row, a contiguous type, a vector with gaps or one at an absolute address (MPI_BOTTOM). The expected results
 * follow from the ranks; the first difference ends the program. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

enum { INTS = 4 }; /* in one element, whatever its type */
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum layout { ROW, CONTIGUOUS, GAPS, BOTTOM, LAYOUTS };
static const char* const form_names[] = {"blocking", "nonblocking", "persistent"};

static MPI_Comm comm;
static const char* comm_name;
static int rank, size;
static long checks;
static enum form form;
static MPI_Datatype contiguous, gaps;

static void wrong(const char* what, int index, int got, int want) {
  fprintf(stderr, "forms: WRONG %s %s on %s rank %d of %d: element %d is %d, not %d\n", form_names[form], what,
          comm_name, rank, size, index, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A buffer of elements in one of the layouts, and as a plain row. */
struct buffer {
  enum layout layout;
  int elements;
  int* memory;
  void* at;        /* the address that MPI gets */
  int count;       /* number of units of `type` for all elements */
  int per_element; /* number of units of `type` for one element */
  MPI_Datatype type;
};

static int stride(const struct buffer* b) { return GAPS == b->layout ? 2 * INTS : INTS; }

static struct buffer make(enum layout layout, int elements) {
  struct buffer b = {layout, elements, NULL, NULL, 0, 1, MPI_INT};
  b.memory = malloc(sizeof(int) * (size_t)(2 * INTS * elements + 1));
  for (int i = 0; i < 2 * INTS * elements; ++i) b.memory[i] = -7;
  b.at = b.memory;
  switch (layout) {
    case ROW: b.per_element = INTS; break;
    case CONTIGUOUS: b.type = contiguous; break;
    case GAPS: b.type = gaps; break;
    default: {
      MPI_Aint address;
      MPI_Datatype shifted;
      int one = 1;
      MPI_Get_address(b.memory, &address);
      MPI_Type_create_struct(1, &one, &address, &contiguous, &shifted);
      MPI_Type_create_resized(shifted, 0, sizeof(int) * INTS, &b.type);
      MPI_Type_free(&shifted);
      MPI_Type_commit(&b.type);
      b.at = MPI_BOTTOM;
    }
  }
  b.count = b.per_element * elements;
  return b;
}
static void drop(struct buffer* b) {
  if (BOTTOM == b->layout) MPI_Type_free(&b->type);
  free(b->memory);
}
static int* element(const struct buffer* b, int i) { return b->memory + i * stride(b); }
static void set(struct buffer* b, int i, int value) {
  int* at = element(b, i);
  for (int k = 0; k < INTS; ++k) at[GAPS == b->layout ? 2 * k : k] = value + k;
}
static void expect(const struct buffer* b, int i, int value, const char* what) {
  const int* at = element(b, i);
  for (int k = 0; k < INTS; ++k) {
    int got = at[GAPS == b->layout ? 2 * k : k];
    if (got != value + k) wrong(what, i, got, value + k);
    if (GAPS == b->layout && at[2 * k + 1] != -7) wrong("a gap", i, at[2 * k + 1], -7);
  }
  ++checks;
}

static void finish(MPI_Request* request) {
  if (PERSISTENT == form) {
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Request_free(request);
  } else {
    MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}
#define RUN(Name, ...)                                                                          \
  do {                                                                                          \
    MPI_Request request;                                                                        \
    switch (form) {                                                                             \
      case BLOCKING: MPI_##Name(__VA_ARGS__, comm); break;                                      \
      case NONBLOCKING:                                                                         \
        MPI_I##Name(__VA_ARGS__, comm, &request);                                               \
        finish(&request);                                                                       \
        break;                                                                                  \
      default: INIT(Name##_init)(__VA_ARGS__, comm, MPI_INFO_NULL, &request); finish(&request); \
    }                                                                                           \
  } while (0)
#define MPI_IBcast MPI_Ibcast
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

static int value_of(int from, int to, int i) { return 1000000 * from + 10000 * to + 10 * i; }
/* Open MPI 4.1's own allgatherv chooses its algorithm by the local type and hangs if ranks' types differ: `same` is
 * for calls that it serves. */
static int same_types;
static enum layout layout_at(int shift) { return (enum layout)(((same_types ? 0 : rank) + shift) % LAYOUTS); }

static void barrier(void) {
  MPI_Request request;
  if (BLOCKING == form) {
    MPI_Barrier(comm);
  } else if (NONBLOCKING == form) {
    MPI_Ibarrier(comm, &request);
    finish(&request);
  } else {
    INIT(Barrier_init)(comm, MPI_INFO_NULL, &request);
    finish(&request);
  }
}

static void bcast(int n, int root, int shift) {
  struct buffer b = make(layout_at(shift), n);
  for (int i = 0; rank == root && i < n; ++i) set(&b, i, value_of(root, 0, i));
  RUN(Bcast, b.at, b.count, b.type, root);
  for (int i = 0; i < n; ++i) expect(&b, i, value_of(root, 0, i), "bcast");
  drop(&b);
}

static void allgather(int n, int in_place, int shift) {
  struct buffer in = make(layout_at(shift), n), out = make(layout_at(shift + 1), n * size);
  for (int i = 0; i < n; ++i) {
    set(&in, i, value_of(rank, 0, i));
    if (in_place) set(&out, rank * n + i, value_of(rank, 0, i));
  }
  RUN(Allgather, in_place ? MPI_IN_PLACE : in.at, in.count, in.type, out.at, n * out.per_element, out.type);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) expect(&out, r * n + i, value_of(r, 0, i), "allgather");
  drop(&in), drop(&out);
}

/* Rank r gives n + r % 3 elements, none if r % 5 is 4; blocks are in reversed order, with one element free between
 * them. */
static int length_of(int r, int n) { return r % 5 == 4 ? 0 : n + r % 3; }

static void allgatherv(int n, int in_place, int shift) {
  struct buffer in = make(layout_at(shift), length_of(rank, n) + 1), out = make(layout_at(shift + 1), (n + 4) * size);
  int *counts = malloc(sizeof(int) * (size_t)size), *at = malloc(sizeof(int) * (size_t)size),
      *first = malloc(sizeof(int) * (size_t)size);
  for (int r = size - 1, next = 0; r >= 0; --r) {
    first[r] = next;
    counts[r] = length_of(r, n) * out.per_element;
    at[r] = next * out.per_element;
    next += length_of(r, n) + 1;
  }
  for (int i = 0; i < length_of(rank, n); ++i) {
    set(&in, i, value_of(rank, 0, i));
    if (in_place) set(&out, first[rank] + i, value_of(rank, 0, i));
  }
  RUN(Allgatherv, in_place ? MPI_IN_PLACE : in.at, length_of(rank, n) * in.per_element, in.type, out.at, counts, at,
      out.type);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < length_of(r, n); ++i) expect(&out, first[r] + i, value_of(r, 0, i), "allgatherv");
  free(counts), free(at), free(first);
  drop(&in), drop(&out);
}

static void alltoall(int n, int in_place, int shift) {
  struct buffer in = make(layout_at(shift), n * size), out = make(layout_at(shift + 1), n * size);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) {
      set(&in, r * n + i, value_of(rank, r, i));
      if (in_place) set(&out, r * n + i, value_of(rank, r, i));
    }
  RUN(Alltoall, in_place ? MPI_IN_PLACE : in.at, n * in.per_element, in.type, out.at, n * out.per_element, out.type);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < n; ++i) expect(&out, r * n + i, value_of(r, rank, i), "alltoall");
  drop(&in), drop(&out);
}

/* Rank a sends b (a + b) % 4 * n elements, so that the table is symmetric, as in place demands; some blocks are
 * empty. */
static int between(int a, int b, int n) { return (a + b) % 4 * n; }

static void alltoallv(int n, int in_place, int shift) {
  struct buffer in = make(layout_at(shift), 4 * n * size), out = make(layout_at(shift + 1), 4 * n * size);
  int* lists = malloc(sizeof(int) * (size_t)(4 * size));
  int *scounts = lists, *sat = lists + size, *rcounts = lists + 2 * size, *rat = lists + 3 * size;
  for (int r = 0; r < size; ++r) {
    scounts[r] = between(rank, r, n) * in.per_element;
    rcounts[r] = between(r, rank, n) * out.per_element;
    sat[r] = (size - 1 - r) * 4 * n * in.per_element;
    rat[r] = r * 4 * n * out.per_element;
    for (int i = 0; i < between(rank, r, n); ++i) {
      set(&in, (size - 1 - r) * 4 * n + i, value_of(rank, r, i));
      if (in_place) set(&out, r * 4 * n + i, value_of(rank, r, i));
    }
  }
  RUN(Alltoallv, in_place ? MPI_IN_PLACE : in.at, scounts, sat, in.type, out.at, rcounts, rat, out.type);
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < between(r, rank, n); ++i) expect(&out, r * 4 * n + i, value_of(r, rank, i), "alltoallv");
  free(lists);
  drop(&in), drop(&out);
}

/* Tests reductions of ints, and of a type for which src/reduce has no kernel. */
static void reductions(int n, int in_place, int root) {
  int *in = malloc(sizeof(int) * (size_t)(n * size)), *out = malloc(sizeof(int) * (size_t)(n * size));
  int ranks = size * (size - 1) / 2;
  for (int i = 0; i < n * size; ++i) in[i] = out[i] = rank + 3 * i;
  RUN(Allreduce, in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM);
  for (int i = 0; i < n; ++i)
    if (out[i] != ranks + 3 * i * size) wrong("allreduce", i, out[i], ranks + 3 * i * size);
  for (int i = 0; i < n * size; ++i) out[i] = rank + 3 * i;
  RUN(Reduce, in_place && rank == root ? MPI_IN_PLACE : in, rank == root ? out : NULL, n, MPI_INT, MPI_SUM, root);
  for (int i = 0; i < n; ++i) {
    int want = rank == root ? ranks + 3 * i * size : rank + 3 * i;
    if (out[i] != want) wrong("reduce", i, out[i], want);
  }
  for (int i = 0; i < n * size; ++i) out[i] = rank + 3 * i;
  RUN(Reduce_scatter_block, in_place ? MPI_IN_PLACE : in, out, n, MPI_INT, MPI_SUM);
  for (int i = 0; i < n; ++i)
    if (out[i] != ranks + 3 * (rank * n + i) * size)
      wrong("reduce_scatter_block", i, out[i], ranks + 3 * (rank * n + i) * size);
  free(in), free(out);
  long double* wide = malloc(sizeof(long double) * (size_t)(2 * n));
  for (int i = 0; i < n; ++i) wide[i] = rank + i, wide[n + i] = -1;
  RUN(Allreduce, wide, wide + n, n, MPI_LONG_DOUBLE, MPI_MAX);
  for (int i = 0; i < n; ++i)
    if (wide[n + i] != size - 1 + i) wrong("allreduce of long double", i, (int)wide[n + i], size - 1 + i);
  free(wide);
  checks += 4;
}

static void multiply_first(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] = 10 * ((int*)in)[i] + ((int*)inout)[i] % 10;
}

/* A user's operation whose order matters goes to MPI's own collective. */
static void users_operation(void) {
  MPI_Op op;
  MPI_Op_create(multiply_first, 0, &op);
  int in = rank % 10, out = 0;
  RUN(Allreduce, &in, &out, 1, MPI_INT, op);
  MPI_Op_free(&op);
  if (out % 10 != (size - 1) % 10) wrong("allreduce by a user's operation", 0, out, size - 1);
}

static void on(MPI_Comm where, const char* name, int quick) {
  comm = where, comm_name = name;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int lengths[] = {1, 3, 40, 700, 9000};
  for (int f = 0; f < FORMS; ++f) {
    form = (enum form)f;
    barrier();
    for (int l = 0; l < (quick ? 4 : 5); ++l)
      for (int in_place = 0; in_place < 2; ++in_place) {
        int n = lengths[l];
        for (int root = 0; root < size; root += l < 2 ? 1 : 3) {
          bcast(n, root, l + in_place);
          reductions(n, in_place, root);
        }
        for (int shift = 0; shift < (l < 2 ? LAYOUTS : 2); ++shift) {
          allgather(n, in_place, shift);
          allgatherv(n, in_place, shift);
          alltoall(n, in_place, shift);
          alltoallv(n, in_place, shift);
        }
        barrier();
      }
    users_operation();
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int quick = argc > 1 && NULL != strstr(argv[1], "quick"), world_rank, world_size;
  same_types = argc > 1 && NULL != strstr(argv[1], "same");
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Type_contiguous(INTS, MPI_INT, &contiguous);
  MPI_Type_commit(&contiguous);
  MPI_Datatype every_other;
  MPI_Type_vector(INTS, 1, 2, MPI_INT, &every_other);
  MPI_Type_create_resized(every_other, 0, sizeof(int) * 2 * INTS, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Type_free(&every_other);
  MPI_Comm reversed, halves;
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_size - world_rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &halves);
  on(MPI_COMM_WORLD, "world", quick);
  on(reversed, "reversed", 1);
  on(halves, "halves", 1);
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&halves);
  MPI_Type_free(&contiguous);
  MPI_Type_free(&gaps);
  if (0 == world_rank) printf("forms: %ld right on %d ranks\n", checks, world_size);
  MPI_Finalize();
  return 0;
}
