/* The lives of communicators, drawn from a seed: they are made from each other in several ways, used by
 * blocking, nonblocking and persistent collectives, freed in any order, some never. Each result is compared with the
 * one that follows from the seed.
 *
 *     lives SEED [STEPS]
 *
 * All ranks draw the same numbers, whether they are members of the drawn communicator or not, so the plan is the
 * same everywhere. The plan leaves out the mistakes of Open MPI 4.1: nonblocking collectives on a communicator with
 * a pending MPI_Comm_idup, or one that is freed before they end; several MPI_Comm_idup of one communicator at once. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "persistent.h"

enum { COMMS = 20, POSTED = 6, AGAIN = 20, WORLD = 0 };
enum kind { BARRIER, ALLREDUCE, REDUCE, BCAST, ALLGATHER, ALLTOALL, SCATTER, KINDS };
enum form { BLOCKING, NONBLOCKING, PERSISTENT };

static uint64_t seed, state;
static int world_rank, world_size, step, ops;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
/* Every rank draws at each step, whether it takes part or not, so all draw the same numbers. */
static int draw(int below) { return (int)(mix(state += 0x9e3779b97f4a7c15u) % (uint64_t)below); }
static int own_draw(int below) {
  return (int)(mix(mix(seed + (uint64_t)step) + (uint64_t)world_rank) % (uint64_t)below);
}

static void fail(const char* what, int got, int want) {
  fprintf(stderr, "lives: WRONG %s in step %d of seed %llu, rank %d of %d: %d, not %d\n", what, step,
          (unsigned long long)seed, world_rank, world_size, got, want);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* ---- collectives ---- */

struct op {
  int used; /* planned: the same at all ranks */
  int slot; /* slot of its communicator */
  enum kind kind;
  enum form form;
  int root, count, in_place, number, round;
  MPI_Comm comm; /* MPI_COMM_NULL when this rank is no member */
  int rank, size;
  int *in, *out;
  MPI_Request request;
};

static int value(const struct op* op, int rank, int i) {
  return (op->number * 31 + op->round * 17 + rank * 7 + i) % 1000;
}
static int sum_at(const struct op* op, int i) {
  int sum = 0;
  for (int r = 0; r < op->size; ++r) sum += value(op, r, i);
  return sum;
}

static void fill(struct op* op) {
  const int all = op->count * op->size;
  for (int i = 0; i < all; ++i) op->in[i] = value(op, op->rank, i), op->out[i] = -1;
  if (op->in_place && (ALLREDUCE == op->kind || SCATTER == op->kind || ALLTOALL == op->kind))
    for (int i = 0; i < all; ++i) op->out[i] = op->in[i];
  if (op->in_place && ALLGATHER == op->kind)
    for (int i = 0; i < op->count; ++i) op->out[op->rank * op->count + i] = op->in[i];
  if (BCAST == op->kind && op->rank == op->root)
    for (int i = 0; i < op->count; ++i) op->out[i] = op->in[i];
}

/* Returns the required value of element i of the result. */
static int wanted(const struct op* op, int i) {
  const int block = i / op->count, at = i % op->count;
  switch (op->kind) {
    case ALLGATHER: return value(op, block, at);
    case ALLTOALL: return value(op, block, op->rank * op->count + at);
    case BCAST: return value(op, op->root, i);
    case SCATTER: return sum_at(op, op->rank * op->count + i);
    default: return sum_at(op, i);
  }
}

static void check(const struct op* op) {
  const int blocks = ALLGATHER == op->kind || ALLTOALL == op->kind ? op->size : 1;
  if (BARRIER == op->kind || (REDUCE == op->kind && op->rank != op->root)) return;
  for (int i = 0; i < op->count * blocks; ++i)
    if (op->out[i] != wanted(op, i)) fail("element of a collective", op->out[i], wanted(op, i));
}

#define RUN(name, ...)                                                          \
  (BLOCKING == op->form      ? MPI_##name(__VA_ARGS__, op->comm)                \
   : NONBLOCKING == op->form ? MPI_I##name(__VA_ARGS__, op->comm, &op->request) \
                             : INIT(name##_init)(__VA_ARGS__, op->comm, MPI_INFO_NULL, &op->request))
/* Names of nonblocking collectives have a lower-case letter after the I. */
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IBcast MPI_Ibcast
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

static int call(struct op* op) {
  const void* in = op->in_place ? MPI_IN_PLACE : op->in;
  const int n = op->count;
  switch (op->kind) {
    case ALLREDUCE: return RUN(Allreduce, in, op->out, n, MPI_INT, MPI_SUM);
    case REDUCE: return RUN(Reduce, op->in, op->out, n, MPI_INT, MPI_SUM, op->root);
    case BCAST: return RUN(Bcast, op->out, n, MPI_INT, op->root);
    case ALLGATHER: return RUN(Allgather, in, n, MPI_INT, op->out, n, MPI_INT);
    case ALLTOALL: return RUN(Alltoall, op->in, n, MPI_INT, op->out, n, MPI_INT);
    case SCATTER: return RUN(Reduce_scatter_block, op->in, op->out, n, MPI_INT, MPI_SUM);
    default:
      return BLOCKING == op->form      ? MPI_Barrier(op->comm)
             : NONBLOCKING == op->form ? MPI_Ibarrier(op->comm, &op->request)
                                       : INIT(Barrier_init)(op->comm, MPI_INFO_NULL, &op->request);
  }
}

static void begin(struct op* op, int slot, MPI_Comm comm, enum form form) {
  static const int counts[] = {1, 3, 40, 300, 5000, 20000};
  op->used = 1;
  op->slot = slot;
  op->form = form;
  op->kind = (enum kind)draw(KINDS);
  op->count = counts[draw(ALLTOALL == op->kind || ALLGATHER == op->kind || SCATTER == op->kind ? 4 : 6)];
  op->in_place = draw(2) && (ALLREDUCE == op->kind || ALLGATHER == op->kind);
  op->number = step;
  op->round = 0;
  op->comm = comm;
  const int root = draw(1 << 20);
  if (MPI_COMM_NULL == comm) return;
  ++ops;
  MPI_Comm_rank(comm, &op->rank);
  MPI_Comm_size(comm, &op->size);
  op->root = root % op->size;
  op->in = malloc(sizeof(int) * (size_t)(op->count * op->size));
  op->out = malloc(sizeof(int) * (size_t)(op->count * op->size));
  if (NULL == op->in || NULL == op->out) fail("memory", 0, 1);
  fill(op);
  if (MPI_SUCCESS != call(op)) fail("code of a collective", 1, MPI_SUCCESS);
}

static void end(struct op* op) {
  op->used = 0;
  if (MPI_COMM_NULL == op->comm) return;
  if (NONBLOCKING == op->form) MPI_Wait(&op->request, MPI_STATUS_IGNORE);
  if (PERSISTENT == op->form) MPI_Request_free(&op->request);
  if (PERSISTENT != op->form) check(op);
  free(op->in);
  free(op->out);
}

/* ---- communicators ---- */

static struct comm {
  int used, is_inter;
  MPI_Comm comm; /* MPI_COMM_NULL when this rank is no member */
  int parent;    /* parent of a pending MPI_Comm_idup, or -1 */
  MPI_Request duplicate;
} comms[COMMS];
static struct op posted[POSTED], again[AGAIN];

static void settle(int slot) {
  struct comm* c = &comms[slot];
  if (c->parent >= 0 && MPI_REQUEST_NULL != c->duplicate) MPI_Wait(&c->duplicate, MPI_STATUS_IGNORE);
  c->parent = -1;
}
static void settle_all(void) {
  for (int i = 0; i < COMMS; ++i) settle(i);
}
static int is_parent(int slot) {
  for (int i = 0; i < COMMS; ++i)
    if (comms[i].used && comms[i].parent == slot) return 1;
  return 0;
}

/* Returns a communicator that is in use, the drawn one or the next, after its own duplication has completed. */
static int pick(void) {
  int slot = draw(COMMS);
  while (!comms[slot].used) slot = (slot + 1) % COMMS;
  settle(slot);
  return slot;
}

/* Returns ranks 0, m, 2m ... of the parent. */
static MPI_Group every(MPI_Comm parent, int m) {
  MPI_Group all, some;
  int size;
  MPI_Comm_group(parent, &all);
  MPI_Comm_size(parent, &size);
  int range[1][3] = {{0, size - 1, m}};
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Group_free(&all);
  return some;
}

static MPI_Comm between(MPI_Comm parent) {
  MPI_Comm half, made = MPI_COMM_NULL;
  int rank, size;
  MPI_Comm_rank(parent, &rank);
  MPI_Comm_size(parent, &size);
  if (size < 2) return MPI_COMM_NULL;
  MPI_Comm_split(parent, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, parent, 1 - rank % 2, step, &made);
  MPI_Comm_free(&half);
  return made;
}

static void make(int slot) {
  const int from = pick(), way = draw(7), m = 1 + draw(3);
  struct comm* c = &comms[slot];
  const MPI_Comm parent = comms[from].comm;
  *c = (struct comm){1, 0, MPI_COMM_NULL, -1, MPI_REQUEST_NULL};
  const int by_inter = comms[from].is_inter;
  settle_all(); /* at most one duplication at a time */
  c->is_inter = by_inter ? m > 1 : 6 == way;
  if (2 == way && !by_inter) c->parent = from;
  if (MPI_COMM_NULL == parent) return;
  MPI_Group group;
  if (by_inter) {
    if (c->is_inter)
      MPI_Comm_dup(parent, &c->comm);
    else
      MPI_Intercomm_merge(parent, 0, &c->comm);
    return;
  }
  switch (way) {
    case 2: /* no nonblocking collective of the parent may be pending beside it */
      for (int i = 0; i < POSTED; ++i)
        if (posted[i].used && posted[i].slot == from) end(&posted[i]);
      MPI_Comm_idup(parent, &c->comm, &c->duplicate);
      break;
    case 3: MPI_Comm_split(parent, own_draw(4) ? own_draw(2) : MPI_UNDEFINED, own_draw(100), &c->comm); break;
    case 4:
    case 5:
      group = every(parent, m);
      int at;
      MPI_Group_rank(group, &at);
      if (4 == way) MPI_Comm_create(parent, group, &c->comm);
      if (5 == way && MPI_UNDEFINED != at) MPI_Comm_create_group(parent, group, step, &c->comm);
      MPI_Group_free(&group);
      break;
    case 6: c->comm = between(parent); break;
    default: MPI_Comm_dup(parent, &c->comm); break;
  }
}

/* Completes the collectives posted on the communicator first, at ranks that are members and at others alike. */
static void end_all_of(int slot) {
  for (int i = 0; i < POSTED; ++i)
    if (posted[i].used && posted[i].slot == slot) end(&posted[i]);
  for (int i = 0; i < AGAIN; ++i)
    if (again[i].used && again[i].slot == slot) end(&again[i]);
}

static void drop(int slot) {
  settle_all();
  end_all_of(slot);
  comms[slot].used = 0;
  if (MPI_COMM_NULL != comms[slot].comm) MPI_Comm_free(&comms[slot].comm);
}

static void use_inter(MPI_Comm comm) {
  int own = step, sum = -1, others;
  MPI_Comm_remote_size(comm, &others);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != step * others) fail("sum of the other group", sum, step * others);
  MPI_Barrier(comm);
}

/* ---- the plan ---- */

static void run_once(int slot) {
  struct op op = {0};
  begin(&op, slot, comms[slot].comm, BLOCKING);
  end(&op);
}

static void post(int slot) {
  struct op* op = &posted[draw(POSTED)];
  if (op->used) end(op);
  if (!is_parent(slot)) begin(op, slot, comms[slot].comm, NONBLOCKING);
}

/* Starts all persistent collectives, each rank in an order of its own. */
static void start_again(void) {
  MPI_Request active[AGAIN];
  const int first = own_draw(AGAIN), down = own_draw(2);
  for (int i = 0; i < AGAIN; ++i) {
    const int k = (first + (down ? AGAIN - i : i)) % AGAIN;
    active[k] = MPI_REQUEST_NULL;
    if (!again[k].used) continue;
    ++again[k].round;
    if (MPI_COMM_NULL == again[k].comm) continue;
    fill(&again[k]);
    MPI_Start(&again[k].request);
    active[k] = again[k].request;
  }
  MPI_Waitall(AGAIN, active, MPI_STATUSES_IGNORE);
  for (int k = 0; k < AGAIN; ++k)
    if (again[k].used && MPI_COMM_NULL != again[k].comm) check(&again[k]);
}

static int free_slot(void) {
  for (int i = 1; i < COMMS; ++i)
    if (!comms[i].used) return i;
  return -1;
}

static void take_step(void) {
  const int what = draw(20), slot = pick(), into = free_slot(), which = draw(AGAIN);
  if (what < 5) {
    if (into > 0) make(into);
  } else if (what < 8) {
    if (WORLD != slot) drop(slot);
  } else if (comms[slot].is_inter) {
    if (MPI_COMM_NULL != comms[slot].comm) use_inter(comms[slot].comm);
  } else if (what < 13) {
    run_once(slot);
  } else if (what < 16) {
    post(slot);
  } else if (what < 18) {
    if (again[which].used) end(&again[which]);
    if (!is_parent(slot)) begin(&again[which], slot, comms[slot].comm, PERSISTENT);
  } else {
    start_again();
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  state = mix(seed);
  const int steps = argc > 2 ? atoi(argv[2]) : 120;
  comms[WORLD] = (struct comm){1, 0, MPI_COMM_WORLD, -1, MPI_REQUEST_NULL};
  for (int i = 1; i < COMMS; ++i) comms[i].parent = -1;
  for (step = 1; step <= steps; ++step) take_step();
  settle_all();
  for (int i = 0; i < POSTED; ++i)
    if (posted[i].used) end(&posted[i]);
  for (int i = 0; i < AGAIN; ++i)
    if (again[i].used) end(&again[i]);
  for (int i = 1; i < COMMS; ++i)
    if (comms[i].used && draw(2)) drop(i);
  if (0 == world_rank) printf("lives: seed %llu: %d collectives right\n", (unsigned long long)seed, ops);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
