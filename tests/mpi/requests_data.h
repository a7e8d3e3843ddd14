/* The operations of requests.c: what is drawn for one, its buffers, and what they must hold at its end. */
#ifndef SUMAC_TESTS_MPI_REQUESTS_DATA_H
#define SUMAC_TESTS_MPI_REQUESTS_DATA_H

#include <mpi.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent.h"

/* Names of nonblocking collectives have a lower-case letter after the I. */
#define MPI_IBcast MPI_Ibcast
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv

enum kind {
  BARRIER,
  BCAST,
  REDUCE,
  ALLREDUCE,
  SCATTER_BLOCK,
  ALLGATHER,
  ALLGATHERV,
  ALLTOALL,
  ALLTOALLV,
  GATHER,
  GATHERV,
  SCATTER,
  SCATTERV,
  LEFT, /* from here on the MPI does it */
  SCAN = LEFT,
  EXSCAN,
  REDUCE_SCATTER,
  ALLTOALLW,
  KINDS,
  MESSAGE = KINDS
};
enum form { BLOCKING, NONBLOCKING, PERSISTENT };
enum { RANKS_MAX = 16, NUMBERS_MAX = 3, GUARD = 16, UNTOUCHED = 0x5a5a5a5a };

static uint64_t seed, state, own_state;
static int world_rank, world_size, step, checked, is_mild;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static int draw(int below) { return (int)(mix(state += 0x9e3779b97f4a7c15u) % (uint64_t)below); }
static int own_draw(int below) { return (int)(mix(own_state += 0x9e3779b97f4a7c15u) % (uint64_t)below); }

static void begin_draws(uint64_t from) {
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  seed = from;
  state = mix(seed);
  own_state = mix(seed + 1000003u * (uint64_t)(world_rank + 1));
}

/* A type of a few ints: those of one element lie at `at`, and elements `extent` ints apart. */
struct type {
  MPI_Datatype handle;
  int ints, extent, at[NUMBERS_MAX];
};

/* One side of an operation: blocks of elements in a buffer. */
struct side {
  int* data;   /* given to MPI */
  int* memory; /* with GUARD ints before and behind */
  int length;  /* `memory` has so many ints */
  struct type type;
  int blocks, counts[RANKS_MAX], at[RANKS_MAX], bytes_at[RANKS_MAX];
  MPI_Datatype types[RANKS_MAX];
};

struct op {
  enum kind kind;
  enum form form;
  int number, round, rank, size, root, in_place, on, is_active, is_safe;
  int ints[RANKS_MAX][RANKS_MAX]; /* [from][to] ints of each block */
  int all_counts[RANKS_MAX];
  int rule; /* a reduction's: see combine() */
  MPI_Op operation;
  MPI_Comm comm;
  MPI_Request request;
  struct side in, out;
  int peer, is_receive; /* these two are a message's */
  int are_freed;        /* its types and its operation */
};

static void fail(const struct op* op, const char* what, long got, long want) {
  fprintf(stderr, "requests: WRONG %s in step %d of seed %llu, rank %d of %d: %ld, not %ld", what, step,
          (unsigned long long)seed, world_rank, world_size, got, want);
  if (NULL != op)
    fprintf(stderr, " (operation %d: kind %d, form %d, round %d, root %d, in place %d, rule %d)", op->number, op->kind,
            op->form, op->round, op->root, op->in_place, op->rule);
  fprintf(stderr, "\n");
  MPI_Abort(MPI_COMM_WORLD, 3);
  abort();
}

/* ---- types ---- */

static struct type make_type(int ints, int shape) {
  static const struct {
    int extent, at[NUMBERS_MAX];
  } shapes[][3] = {{{1, {0}}, {3, {0}}, {2, {1}}},
                   {{2, {0, 1}}, {4, {0, 2}}, {3, {2, 0}}},
                   {{3, {0, 1, 2}}, {5, {0, 1, 4}}, {4, {3, 0, 1}}}};
  struct type made = {.ints = ints, .extent = shapes[ints - 1][shape].extent};
  int ones[NUMBERS_MAX] = {1, 1, 1};
  memcpy(made.at, shapes[ints - 1][shape].at, sizeof made.at);
  MPI_Datatype inner;
  MPI_Type_indexed(ints, ones, made.at, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, made.extent * (MPI_Aint)sizeof(int), &made.handle);
  MPI_Type_commit(&made.handle);
  MPI_Type_free(&inner);
  return made;
}
/* Any type, each rank's own. */
static struct type any_type(void) { return make_type(1 + own_draw(NUMBERS_MAX), own_draw(3)); }
static struct type plain(void) { return (struct type){MPI_INT, 1, 1, {0}}; }

static int at(const struct side* side, int block, int i) {
  const struct type* type = &side->type;
  return GUARD + (side->at[block] + i / type->ints) * type->extent + type->at[i % type->ints];
}

static void allocate(struct side* side) {
  int most = 0;
  for (int b = 0; b < side->blocks; ++b)
    if (side->at[b] + side->counts[b] > most) most = side->at[b] + side->counts[b];
  for (int b = 0; b < side->blocks; ++b) {
    side->bytes_at[b] = side->at[b] * side->type.extent * (int)sizeof(int);
    side->types[b] = side->type.handle;
  }
  side->length = most * side->type.extent + 2 * GUARD + NUMBERS_MAX;
  side->memory = malloc(sizeof(int) * (size_t)side->length);
  if (NULL == side->memory) fail(NULL, "memory", 0, 1);
  side->data = side->memory + GUARD;
}

/* Lays out blocks of `ints` ints each; `gap` elements lie between them. */
static void lay_out(struct side* side, struct type type, int blocks, const int* ints, int gap) {
  side->type = type;
  side->blocks = blocks;
  int next = 0;
  for (int b = 0; b < blocks; ++b) {
    side->counts[b] = ints[b] / type.ints;
    side->at[b] = next;
    next += side->counts[b] + gap;
  }
  allocate(side);
}

/* ---- values ---- */

static int value(const struct op* op, int rank, int block, int i) {
  return (int)(mix(seed + (uint64_t)op->number * 1009u + (uint64_t)op->round * 31u + (uint64_t)rank * 131071u +
                   (uint64_t)block * 8191u + (uint64_t)i) %
               2003u);
}

/* Rules 0 to 2 are MPI's operations; 3 and 4 combine pairs of ints, and 4 does not commute: it composes the maps x -> a x + b. */
static void combine_pair(int rule, const unsigned* left, const unsigned* right, unsigned* out) {
  const unsigned a = 3 == rule ? left[0] + right[0] : left[0] * right[0];
  const unsigned b = 3 == rule ? left[1] ^ right[1] : left[0] * right[1] + left[1];
  out[0] = a, out[1] = b;
}
static int combine(int rule, int left, int right) {
  return 0 == rule ? left + right : 1 == rule ? (left > right ? left : right) : left ^ right;
}

static void own_operation(int rule, void* in, void* inout, const int* count, const MPI_Datatype* type) {
  MPI_Aint lower, extent, true_lower, true_extent;
  MPI_Type_get_extent(*type, &lower, &extent);
  MPI_Type_get_true_extent(*type, &true_lower, &true_extent);
  const ptrdiff_t second = true_extent / (ptrdiff_t)sizeof(int) - 1;
  for (int i = 0; i < *count; ++i) {
    unsigned *left = (unsigned*)((char*)in + i * extent), *right = (unsigned*)((char*)inout + i * extent);
    const unsigned a[2] = {left[0], left[second]}, b[2] = {right[0], right[second]};
    unsigned out[2];
    combine_pair(rule, a, b, out);
    right[0] = out[0], right[second] = out[1];
  }
}
static void add_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  own_operation(3, in, inout, count, type);
}
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) { own_operation(4, in, inout, count, type); }

/* Returns what element i of the reduction of ranks 0 to last must be. */
static int reduced(const struct op* op, int last, int block, int i) {
  if (op->rule < 3) {
    int sum = value(op, 0, block, i);
    for (int r = 1; r <= last; ++r) sum = combine(op->rule, sum, value(op, r, block, i));
    return sum;
  }
  const int first = i - i % 2;
  unsigned sum[2] = {(unsigned)value(op, 0, block, first), (unsigned)value(op, 0, block, first + 1)};
  for (int r = 1; r <= last; ++r) {
    const unsigned next[2] = {(unsigned)value(op, r, block, first), (unsigned)value(op, r, block, first + 1)};
    combine_pair(op->rule, sum, next, sum);
  }
  return (int)sum[i % 2];
}

static int is_reduction(enum kind kind) {
  return REDUCE == kind || ALLREDUCE == kind || SCATTER_BLOCK == kind || SCAN == kind || EXSCAN == kind ||
         REDUCE_SCATTER == kind;
}
static int has_root(enum kind kind) { return BCAST == kind || REDUCE == kind || (kind >= GATHER && kind <= SCATTERV); }
static int is_v(enum kind kind) {
  return ALLGATHERV == kind || ALLTOALLV == kind || ALLTOALLW == kind || GATHERV == kind || SCATTERV == kind ||
         REDUCE_SCATTER == kind;
}
static int is_pairwise(enum kind kind) { return ALLTOALL == kind || ALLTOALLV == kind || ALLTOALLW == kind; }

/* ---- contents ---- */

static int gives(const struct op* op) {
  switch (op->kind) {
    case BARRIER: return 0;
    case BCAST:
    case SCATTER:
    case SCATTERV: return op->rank == op->root;
    case MESSAGE: return !op->is_receive;
    default: return 1;
  }
}
static int gets(const struct op* op) {
  switch (op->kind) {
    case BARRIER: return 0;
    case EXSCAN: return op->rank > 0;
    case REDUCE:
    case GATHER:
    case GATHERV: return op->rank == op->root;
    case MESSAGE: return op->is_receive;
    default: return 1;
  }
}

/* Returns what int i of block b of the result must be. */
static int wanted(const struct op* op, int b, int i) {
  switch (op->kind) {
    case BCAST: return value(op, op->root, 0, i);
    case SCAN: return reduced(op, op->rank, 0, i);
    case EXSCAN: return reduced(op, op->rank - 1, 0, i);
    case REDUCE:
    case ALLREDUCE: return reduced(op, op->size - 1, 0, i);
    case SCATTER_BLOCK:
    case REDUCE_SCATTER: return reduced(op, op->size - 1, op->rank, i);
    case ALLGATHER:
    case ALLGATHERV:
    case GATHER:
    case GATHERV: return value(op, b, 0, i);
    case SCATTER:
    case SCATTERV: return value(op, op->root, op->rank, i);
    case MESSAGE: return value(op, op->peer, 0, i);
    default: return value(op, b, op->rank, i);
  }
}

/* True if this rank finds its own data in the buffer of the result. */
static int is_here_in_place(const struct op* op) {
  return op->in_place && (!has_root(op->kind) || op->rank == op->root);
}

static void fill_side(const struct op* op, struct side* side, int with_data) {
  for (int i = 0; i < side->length; ++i) side->memory[i] = UNTOUCHED;
  for (int b = 0; with_data && b < side->blocks; ++b)
    for (int i = 0; i < side->counts[b] * side->type.ints; ++i)
      side->memory[at(side, b, i)] = value(op, op->rank, b, i);
}

static void fill(struct op* op) {
  fill_side(op, &op->in, gives(op));
  fill_side(op, &op->out, 0);
  struct side* out = &op->out;
  if (BCAST == op->kind && op->rank == op->root) fill_side(op, out, 1);
  if (!is_here_in_place(op) || SCATTER == op->kind || SCATTERV == op->kind) return;
  if (is_pairwise(op->kind) || REDUCE == op->kind || ALLREDUCE == op->kind || SCAN == op->kind || EXSCAN == op->kind) {
    fill_side(op, out, 1);
  } else if (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind) { /* all blocks lie where the own one will */
    for (int b = 0, next = 0; b < op->in.blocks; ++b)
      for (int i = 0; i < op->in.counts[b] * op->in.type.ints; ++i, ++next)
        out->memory[at(out, 0, next)] = value(op, op->rank, b, i);
  } else {
    for (int i = 0; i < out->counts[op->rank] * out->type.ints; ++i)
      out->memory[at(out, op->rank, i)] = value(op, op->rank, 0, i);
  }
}

/* In place the standard leaves open what the rest of such a buffer holds. */
static int rest_is_open(const struct op* op) {
  return op->in_place && (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind);
}

static void check_side(const struct op* op, const struct side* side, int is_result, const char* what) {
  int* want = malloc(sizeof(int) * (size_t)(side->length + 1));
  for (int i = 0; i < side->length; ++i) want[i] = UNTOUCHED;
  for (int b = 0; b < side->blocks; ++b) {
    const int ints = is_result && (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind)
                         ? op->ints[0][op->rank]
                         : side->counts[b] * side->type.ints;
    for (int i = 0; i < ints; ++i) want[at(side, b, i)] = is_result ? wanted(op, b, i) : value(op, op->rank, b, i);
  }
  for (int i = 0; i < side->length; ++i) {
    if (is_result && rest_is_open(op) && want[i] == UNTOUCHED) continue;
    if (side->memory[i] != want[i]) fail(op, what, side->memory[i], want[i]);
  }
  free(want);
}

static void check(const struct op* op) {
  ++checked;
  if (NULL != op->in.memory && gives(op)) check_side(op, &op->in, 0, "a number that was sent");
  if (NULL != op->out.memory && gets(op) && !(SCATTER <= op->kind && SCATTERV >= op->kind && is_here_in_place(op)))
    check_side(op, &op->out, 1, "a number of a result");
}

/* ---- drawing ---- */

/* A multiple of 6, so that elements of 1, 2 and 3 ints fit; below 6^most. */
static int draw_ints(int most) {
  int ints = draw(8) ? 6 : 0;
  for (int i = draw(most); i > 0 && ints < 40000; --i) ints *= 5;
  return ints;
}

/* Returns true for a call that fails with the MPI alone. Besides, Open MPI 4.1 chooses an algorithm of MPI_Allgatherv by each rank's own
 * types, and makes no communicator beside nonblocking collectives of its parent. */
static int is_theirs_to_fail(const struct op* op) {
#if defined(MPICH_NAME)
  if (REDUCE == op->kind && op->in_place) return 1; /* it reads MPI_IN_PLACE as an address */
#endif
  if (EXSCAN == op->kind && op->in_place) return 1;
  if (op->rule == 4 && (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind)) return 1;
  return op->in_place && is_pairwise(op->kind) && BLOCKING != op->form;
}

static void draw_blocks(struct op* op) {
  const int same = draw_ints(is_pairwise(op->kind) || op->kind >= ALLGATHER ? 5 : 7);
  for (int from = 0; from < op->size; ++from)
    for (int to = 0; to < op->size; ++to) {
      const int a = op->in_place && from > to ? to : from, b = op->in_place && from > to ? from : to;
      const int depends_on = is_pairwise(op->kind)                           ? a * 17 + b
                             : ALLGATHERV == op->kind || GATHERV == op->kind ? from
                                                                             : to;
      op->ints[from][to] =
          is_v(op->kind)
              ? 6 * (int)(mix(seed + (uint64_t)op->number * 77u + (uint64_t)depends_on) % (uint64_t)(2 + same / 6))
              : same;
    }
}

static void draw_reduction(struct op* op) {
  op->rule = draw(5);
  static void (*const functions[])(void*, void*, int*, MPI_Datatype*) = {add_pairs, compose};
  const MPI_Op known[] = {MPI_SUM, MPI_MAX, MPI_BXOR};
  if (is_mild && is_theirs_to_fail(op)) op->rule = 3;
  if (op->rule < 3)
    op->operation = known[op->rule];
  else
    MPI_Op_create(functions[op->rule - 3], 3 == op->rule, &op->operation);
}

static struct op* draw_op(MPI_Comm comm, enum form form, int kinds) {
  struct op* op = calloc(1, sizeof *op);
  if (NULL == op) fail(NULL, "memory", 0, 1);
  op->kind = (enum kind)draw(kinds);
  op->form = form;
  op->number = step;
  op->comm = comm;
  op->operation = MPI_OP_NULL;
  op->request = MPI_REQUEST_NULL;
  MPI_Comm_rank(comm, &op->rank);
  MPI_Comm_size(comm, &op->size);
  op->root = draw(op->size);
  op->in_place = draw(3) == 0 && BARRIER != op->kind && BCAST != op->kind;
  if (is_mild && is_theirs_to_fail(op)) op->in_place = 0;
  draw_blocks(op);
  const int shape = draw(2);
  int sent[RANKS_MAX], got[RANKS_MAX];
  const int to_all = is_pairwise(op->kind) || SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind ||
                     SCATTER == op->kind || SCATTERV == op->kind;
  const int from_all = is_pairwise(op->kind) || (ALLGATHER <= op->kind && GATHERV >= op->kind);
  for (int r = 0; r < op->size; ++r) {
    sent[r] = op->ints[SCATTER == op->kind || SCATTERV == op->kind ? op->root : op->rank][to_all ? r : op->rank];
    got[r] = op->ints[from_all ? r : op->root][op->rank];
    if (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind) sent[r] = op->ints[0][r];
  }
  if (!to_all && !is_reduction(op->kind)) sent[0] = op->ints[op->rank][op->root];
  struct type types[2];
  if (is_reduction(op->kind)) {
    draw_reduction(op);
    types[0] = types[1] = op->rule < 3 ? plain() : make_type(2, shape);
  } else {
    const int alike = 1 + draw(NUMBERS_MAX);
    for (int i = 0; i < 2; ++i)
      types[i] = is_mild && ALLGATHERV == op->kind ? make_type(alike, own_draw(3)) : any_type();
  }
  for (int r = 0; r < op->size; ++r) op->all_counts[r] = op->ints[0][r] / types[1].ints;
  const int gap = is_v(op->kind) && REDUCE_SCATTER != op->kind;
  lay_out(&op->in, types[0], to_all ? op->size : 1, sent, gap);
  if (is_here_in_place(op) && (SCATTER_BLOCK == op->kind || REDUCE_SCATTER == op->kind)) {
    int all = 0;
    for (int r = 0; r < op->size; ++r) all += op->ints[0][r];
    lay_out(&op->out, types[1], 1, &all, 0);
    op->out.counts[0] = op->all_counts[op->rank];
  } else {
    lay_out(&op->out, types[1], from_all ? op->size : 1, got, gap);
  }
  fill(op);
  return op;
}

static struct op* message(int is_receive, int peer, int ints) {
  struct op* op = calloc(1, sizeof *op);
  if (NULL == op) fail(NULL, "memory", 0, 1);
  *op = (struct op){.kind = MESSAGE,
                    .form = NONBLOCKING,
                    .number = step,
                    .rank = world_rank,
                    .size = world_size,
                    .peer = peer,
                    .is_receive = is_receive,
                    .on = -1,
                    .operation = MPI_OP_NULL,
                    .request = MPI_REQUEST_NULL};
  const struct type type = any_type();
  lay_out(is_receive ? &op->out : &op->in, type, 1, &ints, 0);
  fill(op);
  return op;
}

/* MPI lets a program do it as soon as the call has returned. */
static void free_handles(struct op* op) {
  if (op->are_freed) return;
  op->are_freed = 1;
  if (NULL != op->in.memory && MPI_INT != op->in.type.handle) MPI_Type_free(&op->in.type.handle);
  if (NULL != op->out.memory && MPI_INT != op->out.type.handle && !is_reduction(op->kind))
    MPI_Type_free(&op->out.type.handle);
  if (op->rule >= 3) MPI_Op_free(&op->operation);
}

#endif
