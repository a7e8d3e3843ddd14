/* Reductions with a program's own operations and types: `own` uses those that shared memory can do, `own large` elements
 * that are too large for it, or that reach into each other. Each element holds affine maps x -> a x + b, whose composition
 * does not commute; every rank knows the data of all ranks and composes them in rank order. Bytes between the data must
 * not change, also where the type has gaps or begins before its address. The program frees operations and types while
 * collectives that use them are pending. `own tame` is for runs in which some are Open MPI's own: it keeps what persistent
 * ones use, because Open MPI 4.1.4 ends with signal 11 there, and has no data that begin elsewhere than at the address,
 * because Open MPI's ring allreduce writes before its buffer then. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

/* The maps of one element: `maps` of them, `step` bytes apart, with a and b at their offsets from the element's address. */
struct kind {
  const char* name;
  int maps;
  MPI_Aint a, b, step;
  MPI_Aint resized_lb, extent; /* extent 0: the type is not resized */
};
static const struct kind kinds[] = {
    {"flat", 1, 0, 4, 8, 0, 0},
    {"b first", 1, 4, 0, 8, 0, 0},
    {"with a hole", 1, 0, 8, 16, 0, 16},
    {"before its address", 1, -8, -4, 8, -8, 12},
    {"behind its address", 1, 8, 12, 8, 0, 0},
    {"with holes everywhere", 3, -4, 16, 24, -16, 96},
    {"wider than a cache line", 25, 0, 4, 8, 0, 0},
    {"wide with holes", 12, 4, 12, 20, 0, 256},
    /* The large ones. */
    {"large", 12800, 0, 4, 8, 0, 0},
    {"large with holes", 1000, 0, 8, 16, 0, 16016},
    {"reaching into the next", 1, 0, 16, 16, 0, 8},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], SMALL_KINDS = 8 };

static int rank, size, is_tame, is_large, failed_at = -1;
static const char* doing = "nothing";

static void fail(const char* what, long at) {
  fprintf(stderr, "own: rank %d: WRONG %s: %s at %ld\n", rank, doing, what, at);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static uint32_t* word(void* element, const struct kind* kind, int map, MPI_Aint offset) {
  return (uint32_t*)((char*)element + map * kind->step + offset);
}

static void compose(void* in, void* inout, int count, const struct kind* kind, MPI_Aint extent) {
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < kind->maps; ++m) {
      void *left = (char*)in + i * extent, *right = (char*)inout + i * extent;
      uint32_t *a = word(right, kind, m, kind->a), *b = word(right, kind, m, kind->b);
      *b += *a * *word(left, kind, m, kind->b);
      *a *= *word(left, kind, m, kind->a);
    }
}

static void add(void* in, void* inout, int count, const struct kind* kind, MPI_Aint extent) {
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < kind->maps; ++m) {
      void *left = (char*)in + i * extent, *right = (char*)inout + i * extent;
      *word(right, kind, m, kind->a) += *word(left, kind, m, kind->a);
      *word(right, kind, m, kind->b) += *word(left, kind, m, kind->b);
    }
}

/* A function for each kind: several are pending at the same time, and MPI passes the type alone. */
static MPI_Aint extents[KINDS];
#define FUNCTIONS(k)                                                              \
  static void compose_##k(void* in, void* inout, int* count, MPI_Datatype* t) {   \
    (void)t;                                                                      \
    compose(in, inout, *count, &kinds[k], extents[k]);                            \
  }                                                                               \
  static void add_##k(void* in, void* inout, int* count, MPI_Datatype* t) {       \
    MPI_Aint lb, extent;                                                          \
    MPI_Type_get_extent(*t, &lb, &extent);                                        \
    if (extent != extents[k]) failed_at = k; /* fail() would leave MPI's depth */ \
    add(in, inout, *count, &kinds[k], extents[k]);                                \
  }
FUNCTIONS(0)
FUNCTIONS(1)
FUNCTIONS(2)
FUNCTIONS(3)
FUNCTIONS(4)
FUNCTIONS(5)
FUNCTIONS(6)
FUNCTIONS(7)
FUNCTIONS(8)
FUNCTIONS(9)
FUNCTIONS(10)
static MPI_User_function* const functions[KINDS][2] = {{add_0, compose_0}, {add_1, compose_1},  {add_2, compose_2},
                                                       {add_3, compose_3}, {add_4, compose_4},  {add_5, compose_5},
                                                       {add_6, compose_6}, {add_7, compose_7},  {add_8, compose_8},
                                                       {add_9, compose_9}, {add_10, compose_10}};

static MPI_Datatype make_type(const struct kind* kind) {
  MPI_Datatype type, resized;
  int* lengths = malloc(sizeof(int) * 2 * (size_t)kind->maps);
  MPI_Aint* at = malloc(sizeof(MPI_Aint) * 2 * (size_t)kind->maps);
  for (int m = 0; m < kind->maps; ++m) {
    at[2 * m] = m * kind->step + kind->a;
    at[2 * m + 1] = m * kind->step + kind->b;
    lengths[2 * m] = lengths[2 * m + 1] = 1;
  }
  MPI_Type_create_hindexed(2 * kind->maps, lengths, at, MPI_UINT32_T, &type);
  free(lengths);
  free(at);
  if (0 != kind->extent) {
    MPI_Type_create_resized(type, kind->resized_lb, kind->extent, &resized);
    MPI_Type_free(&type);
    type = resized;
  }
  MPI_Type_commit(&type);
  return type;
}

/* A buffer with room around it: elements may begin before their address. */
enum { ROOM = 256 };
struct buffer {
  char *memory, *elements, *before;
  size_t bytes;
};
static struct buffer make_buffer(int k, int count) {
  struct buffer made;
  made.bytes = 2 * ROOM + (size_t)extents[k] * (size_t)count + (size_t)(kinds[k].maps * kinds[k].step);
  made.memory = malloc(made.bytes);
  made.before = malloc(made.bytes);
  made.elements = made.memory + ROOM;
  return made;
}
static void clear(struct buffer* buffer) {
  for (size_t i = 0; i < buffer->bytes; ++i) buffer->memory[i] = (char)(i * 31 + 7);
}
static void drop(struct buffer* buffer) {
  free(buffer->memory);
  free(buffer->before);
}

static uint32_t value(int key, int from, int element, int map, int which) {
  uint32_t x = (uint32_t)key * 2654435761u + (uint32_t)from * 40503u + (uint32_t)element * 97u + (uint32_t)map * 3u +
               (uint32_t)which;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
  return x;
}

/* Writes the data of one rank, `first` being the number of the first element. */
static void put(struct buffer* buffer, int k, int key, int from, int first, int count) {
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < kinds[k].maps; ++m) {
      void* element = buffer->elements + i * extents[k];
      *word(element, &kinds[k], m, kinds[k].a) = value(key, from, first + i, m, 0);
      *word(element, &kinds[k], m, kinds[k].b) = value(key, from, first + i, m, 1);
    }
}

/* One reduction, from its data to the look at its result. */
struct work {
  int k, operation, count, key, root, in_place;
  char coll; /* 'a'llreduce, 'r'educe, 's': reduce_scatter_block */
  struct buffer in, out;
  MPI_Datatype type;
  MPI_Op op;
};
static int keeps(const struct work* work) { return 'r' != work->coll || rank == work->root; }
static int given(const struct work* work) { return 's' == work->coll ? work->count * size : work->count; }

static void begin(struct work* work) {
  work->type = make_type(&kinds[work->k]);
  MPI_Op_create(functions[work->k][work->operation], 0 == work->operation, &work->op);
  work->in = make_buffer(work->k, given(work));
  work->out = make_buffer(work->k, given(work));
}

static void fill(struct work* work) {
  clear(&work->in);
  clear(&work->out);
  put(work->in_place && keeps(work) ? &work->out : &work->in, work->k, work->key, rank, 0, given(work));
  memcpy(work->out.before, work->out.memory, work->out.bytes);
  memcpy(work->in.before, work->in.memory, work->in.bytes);
}

static void check(struct work* work) {
  const struct kind* kind = &kinds[work->k];
  doing = kind->name;
  if (failed_at >= 0) fail("extent of the type that the function got", failed_at);
  if (0 != memcmp(work->in.memory, work->in.before, work->in.bytes)) fail("input has changed", 0);
  int first = 's' == work->coll ? rank * work->count : 0;
  for (int i = 0; i < (keeps(work) ? work->count : 0); ++i)
    for (int m = 0; m < kind->maps; ++m) {
      uint32_t a = value(work->key, 0, first + i, m, 0), b = value(work->key, 0, first + i, m, 1);
      for (int from = 1; from < size; ++from) {
        const uint32_t next_a = value(work->key, from, first + i, m, 0),
                       next_b = value(work->key, from, first + i, m, 1);
        b = work->operation ? next_a * b + next_b : b + next_b;
        a = work->operation ? next_a * a : a + next_a;
      }
      void* element = work->out.elements + i * extents[work->k];
      const uint32_t got_a = *word(element, kind, m, kind->a), got_b = *word(element, kind, m, kind->b);
      if (got_a != a || got_b != b) fail("result", i);
      /* The bytes around it are compared below. */
      void* before = work->out.before + ((char*)element - work->out.memory);
      *word(before, kind, m, kind->a) = a;
      *word(before, kind, m, kind->b) = b;
    }
  size_t bytes = work->out.bytes, from = 0;
  if ('s' == work->coll && work->in_place) /* the standard leaves the other blocks undefined */
    bytes = ROOM + (size_t)(extents[work->k] * (work->count - 1) + kind->maps * kind->step);
  for (; from < bytes; ++from)
    if (work->out.memory[from] != work->out.before[from]) fail("byte between the data has changed", (long)from - ROOM);
}

static void end(struct work* work) {
  drop(&work->in);
  drop(&work->out);
}

static void free_handles(struct work* work) {
  MPI_Type_free(&work->type);
  MPI_Op_free(&work->op);
}

/* blocking, nonblocking, persistent */
static void call(struct work* work, int form, MPI_Request* request) {
  void* in = work->in_place && keeps(work) ? MPI_IN_PLACE : work->in.elements;
  void* out = keeps(work) ? work->out.elements : NULL;
  switch (work->coll) {
    case 'a':
      if (0 == form) MPI_Allreduce(in, out, work->count, work->type, work->op, MPI_COMM_WORLD);
      if (1 == form) MPI_Iallreduce(in, out, work->count, work->type, work->op, MPI_COMM_WORLD, request);
      if (2 == form)
        INIT(Allreduce_init)(in, out, work->count, work->type, work->op, MPI_COMM_WORLD, MPI_INFO_NULL, request);
      break;
    case 'r':
      if (0 == form) MPI_Reduce(in, out, work->count, work->type, work->op, work->root, MPI_COMM_WORLD);
      if (1 == form) MPI_Ireduce(in, out, work->count, work->type, work->op, work->root, MPI_COMM_WORLD, request);
      if (2 == form) INIT(Reduce_init)
      (in, out, work->count, work->type, work->op, work->root, MPI_COMM_WORLD, MPI_INFO_NULL, request);
      break;
    default:
      if (0 == form) MPI_Reduce_scatter_block(in, out, work->count, work->type, work->op, MPI_COMM_WORLD);
      if (1 == form) MPI_Ireduce_scatter_block(in, out, work->count, work->type, work->op, MPI_COMM_WORLD, request);
      if (2 == form) INIT(Reduce_scatter_block_init)
      (in, out, work->count, work->type, work->op, MPI_COMM_WORLD, MPI_INFO_NULL, request);
  }
}

static int done;

static void blocking(struct work* work) {
  begin(work);
  fill(work);
  call(work, 0, NULL);
  check(work);
  free_handles(work);
  end(work);
  ++done;
}

enum { PENDING = 16 };
/* All are pending at the same time, and their operations and types are freed before they are complete. */
static void nonblocking(struct work* works, int count) {
  MPI_Request requests[PENDING];
  for (int i = 0; i < count; ++i) {
    begin(&works[i]);
    fill(&works[i]);
    call(&works[i], 1, &requests[i]);
    free_handles(&works[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    check(&works[i]);
    end(&works[i]);
    ++done;
  }
}

static void persistent(struct work* work) {
  MPI_Request request;
  begin(work);
  call(work, 2, &request);
  if (!is_tame) free_handles(work);
  for (int start = 0; start < 3; ++start, ++work->key, ++done) {
    fill(work);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(work);
  }
  MPI_Request_free(&request);
  if (is_tame) free_handles(work);
  end(work);
}

static int draw(int below) {
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (uint32_t)below);
}

static struct work draw_work(int k, char coll) {
  static const int counts[] = {1, 1, 2, 3, 7, 40, 129, 1000, 6000};
  static int key;
  /* At most some 300 KiB at each rank. */
  int most = 1 + 300000 / (int)extents[k] / ('s' == coll ? size : 1), count = counts[draw(9)];
  const struct work work = {.k = k,
                            .operation = draw(2),
                            .count = count < most ? count : most,
                            .key = key += 10,
                            .root = draw(size),
                            .in_place = 0 == draw(3),
                            .coll = coll};
  return work;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i) {
    is_large |= 0 == strcmp(argv[i], "large");
    is_tame |= 0 == strcmp(argv[i], "tame");
  }
  const int first = is_large ? SMALL_KINDS : 0, last = is_large ? KINDS : SMALL_KINDS;
  for (int k = 0; k < KINDS; ++k) {
    MPI_Datatype type = make_type(&kinds[k]);
    MPI_Aint lb;
    MPI_Type_get_extent(type, &lb, &extents[k]);
    MPI_Type_free(&type);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* it makes the team of a communicator over several hosts */
  for (int round = 0; round < (is_large ? 3 : 12); ++round) {
    struct work works[PENDING];
    int count = 0;
    for (int k = first; k < last; ++k) {
      if (is_tame && 0 != kinds[k].a && 0 != kinds[k].b) continue;
      for (const char* coll = 10 == k ? "ar" : "ars"; '\0' != *coll; ++coll) {
        /* An element that reaches into the next one has no order among its results, so there is one of them. */
        struct work work = draw_work(k, *coll);
        if (10 == k) work.count = 1, work.in_place = 0;
        blocking(&work);
        if (0 == round % 4) {
          struct work again = draw_work(k, *coll);
          if (10 == k) again.count = 1, again.in_place = 0;
          persistent(&again);
        }
        if (10 != k && count < PENDING) works[count++] = draw_work(k, *coll);
      }
    }
    nonblocking(works, count);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (0 == rank) printf("own: %d right on %d ranks\n", done, size);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
