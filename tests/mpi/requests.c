/* Collectives in every form beside messages, drawn from a seed and completed in each rank's own order by any of MPI's waits and
 * tests: types with gaps and in another order, in place, users' operations, types and operations that are freed at once,
 * communicators that are freed before their collectives end. Every byte of every buffer is compared with what follows
 * from the seed.
 *
 *     requests SEED STEPS [WORD]...
 *
 *   early       communicators, types and users' operations are freed under collectives that Sumac serves
 *   hosts       the MPI serves every persistent collective
 *   careful     no persistent collective that the MPI serves: those of MPICH 4.0 do not come to their end
 *   mild        leaves out what MPICH 4.0 or Open MPI 4.1 does wrongly alone: see is_theirs_to_fail()
 *   threads     MPI_THREAD_MULTIPLE: two threads complete requests at once
 *
 * All ranks draw the same numbers, so the plan is the same everywhere; which type a rank takes for the same data, and how and
 * when it completes a request, each draws for itself. */
#include <mpi.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "requests_data.h"

#define CALL(name, ...)                                                         \
  (BLOCKING == op->form      ? MPI_##name(__VA_ARGS__, op->comm)                \
   : NONBLOCKING == op->form ? MPI_I##name(__VA_ARGS__, op->comm, &op->request) \
                             : INIT(name##_init)(__VA_ARGS__, op->comm, MPI_INFO_NULL, &op->request))

static int call(struct op* op) {
  const struct side *in = &op->in, *out = &op->out;
  const void* from = op->in_place ? MPI_IN_PLACE : in->data;
  const void* own =
      op->in_place && op->rank == op->root ? MPI_IN_PLACE : in->data; /* the root alone may pass MPI_IN_PLACE */
  void* own_out = op->in_place && op->rank == op->root ? MPI_IN_PLACE : out->data;
  const int n = in->counts[0], m = out->counts[0];
  const MPI_Datatype t = in->type.handle, u = out->type.handle;
  switch (op->kind) {
    case BARRIER:
      return BLOCKING == op->form      ? MPI_Barrier(op->comm)
             : NONBLOCKING == op->form ? MPI_Ibarrier(op->comm, &op->request)
                                       : INIT(Barrier_init)(op->comm, MPI_INFO_NULL, &op->request);
    case BCAST: return CALL(Bcast, out->data, m, u, op->root);
    case REDUCE: return CALL(Reduce, own, out->data, m, u, op->operation, op->root);
    case ALLREDUCE: return CALL(Allreduce, from, out->data, m, u, op->operation);
    case SCAN: return CALL(Scan, from, out->data, m, u, op->operation);
    case EXSCAN: return CALL(Exscan, from, out->data, m, u, op->operation);
    case SCATTER_BLOCK: return CALL(Reduce_scatter_block, from, out->data, m, u, op->operation);
    case REDUCE_SCATTER: return CALL(Reduce_scatter, from, out->data, op->all_counts, u, op->operation);
    case ALLGATHER: return CALL(Allgather, from, n, t, out->data, m, u);
    case ALLGATHERV: return CALL(Allgatherv, from, n, t, out->data, out->counts, out->at, u);
    case ALLTOALL: return CALL(Alltoall, from, n, t, out->data, m, u);
    case ALLTOALLV: return CALL(Alltoallv, from, in->counts, in->at, t, out->data, out->counts, out->at, u);
    case ALLTOALLW:
      return CALL(Alltoallw, from, in->counts, in->bytes_at, in->types, out->data, out->counts, out->bytes_at,
                  out->types);
    case GATHER: return CALL(Gather, own, n, t, out->data, m, u, op->root);
    case GATHERV: return CALL(Gatherv, own, n, t, out->data, out->counts, out->at, u, op->root);
    case SCATTER: return CALL(Scatter, in->data, n, t, own_out, m, u, op->root);
    default: return CALL(Scatterv, in->data, in->counts, in->at, t, own_out, m, u, op->root);
  }
}

/* ---- operations that are not completed, each rank's own list ---- */

enum { COMMS = 6, WORLD = 0, PENDING_MAX = 24, PERSISTENT_MAX = 12 };

static struct op *pending[PENDING_MAX + 4], *persistent[PERSISTENT_MAX];
static int pendings, is_early, is_careful, over_hosts, is_threaded;

static struct comm {
  MPI_Comm comm;
  int used, works; /* works: it has done a blocking collective */
} comms[COMMS];

static void finish(struct op* op) {
  check(op);
  if (MESSAGE == op->kind && MPI_REQUEST_NULL != op->request) fail(op, "a request that is not null", 1, 0);
}
static void drop(struct op* op) {
  free_handles(op);
  free(op->in.memory);
  free(op->out.memory);
  free(op);
}

/* ---- completion: some requests, by one of MPI's functions ---- */

struct batch {
  int count, way;
  struct op* ops[PENDING_MAX + PERSISTENT_MAX + 4];
  unsigned draws;
};

static void ended(struct batch* batch, int i, const MPI_Status* status) {
  struct op* op = batch->ops[i];
  if (NULL == op || !op->is_active) fail(op, "the index of a request that was complete", i, -1);
  if (NULL != status && MESSAGE == op->kind && op->is_receive &&
      (status->MPI_SOURCE != op->peer || status->MPI_TAG != op->number))
    fail(op, "the source of a message", status->MPI_SOURCE, op->peer);
  op->is_active = 0;
}

enum way { WAIT, TEST, STATUS, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, WAYS };

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Looks at them by one of MPI 4.1's three functions, which complete nothing. What a look finds complete was active. (MPICH 5.0 takes an
 * inactive persistent request for a pending one in MPI_Request_get_status_all, and in _some it moves nothing: nobody waits here.) */
static void look(int n, const MPI_Request* requests, const struct batch* batch, int active) {
  MPI_Status statuses[PENDING_MAX + PERSISTENT_MAX + 8];
  int indices[PENDING_MAX + PERSISTENT_MAX + 8], found = 0, done = 0;
  const unsigned draws = batch->draws / 3;
  switch (draws % 4) {
    case 0: MPI_Request_get_status_all(n, requests, &done, statuses); break;
    case 1:
      MPI_Request_get_status_any(n, requests, &indices[0], &done, statuses);
      found = done && MPI_UNDEFINED != indices[0];
      if (done && !found && 0 != active) fail(NULL, "requests that are not complete", active, 0);
      break;
    case 2:
      MPI_Request_get_status_some(n, requests, &found, indices, statuses);
      if (0 == active && MPI_UNDEFINED != found) fail(NULL, "the number where none is active", found, MPI_UNDEFINED);
      if (0 != active && (found < 0 || found > active)) fail(NULL, "the number of complete requests", found, active);
      break;
    default: break;
  }
  for (int k = 0; k < found; ++k) {
    const struct op* op = batch->ops[indices[k]];
    if (NULL == op || !op->is_active) fail(op, "the index of a request that was complete", indices[k], -1);
    done = 0;
    MPI_Request_get_status(requests[indices[k]], &done, MPI_STATUS_IGNORE);
    if (!done) fail(op, "a request that was complete is so", done, 1);
  }
}
#else
#define look(n, requests, batch, active) ((void)0)
#endif

static void complete(struct batch* batch) {
  enum { MOST = PENDING_MAX + PERSISTENT_MAX + 8 };
  MPI_Request requests[MOST];
  MPI_Status statuses[MOST];
  int indices[MOST], left = 0, n = batch->count, done = 0, i = 0;
  for (i = 0; i < n; ++i) {
    requests[i] = NULL == batch->ops[i] ? MPI_REQUEST_NULL : batch->ops[i]->request;
    left += NULL != batch->ops[i] && batch->ops[i]->is_active;
  }
  const int all = left, ignores = batch->draws % 3 == 0;
  MPI_Status* to = ignores ? MPI_STATUSES_IGNORE : statuses;
#define ONE(status) (ignores ? NULL : (status))
  look(n, requests, batch, all);
  switch (batch->way) {
    case WAIT:
    case TEST:
    case STATUS:
      for (int k = 0; k < n; ++k) {
        i = (int)((unsigned)k + batch->draws) % n;
        if (STATUS == batch->way && NULL != batch->ops[i])
          for (done = 0; !done;) MPI_Request_get_status(requests[i], &done, &statuses[i]);
        if (TEST == batch->way)
          for (done = 0; !done;) MPI_Test(&requests[i], &done, &statuses[i]);
        else
          MPI_Wait(&requests[i], &statuses[i]);
        if (NULL != batch->ops[i] && batch->ops[i]->is_active) ended(batch, i, &statuses[i]);
      }
      break;
    case WAITALL:
    case TESTALL:
      if (WAITALL == batch->way)
        MPI_Waitall(n, requests, to);
      else
        while (!done) MPI_Testall(n, requests, &done, to);
      for (i = 0; i < n; ++i)
        if (NULL != batch->ops[i] && batch->ops[i]->is_active) ended(batch, i, ONE(&statuses[i]));
      break;
    case WAITANY:
    case TESTANY:
      for (; left > 0; --left) {
        if (WAITANY == batch->way)
          MPI_Waitany(n, requests, &i, &statuses[0]);
        else
          for (done = 0; !done;) MPI_Testany(n, requests, &i, &done, &statuses[0]);
        if (MPI_UNDEFINED == i) fail(NULL, "requests that are not complete", left, 0);
        ended(batch, i, &statuses[0]);
      }
      if (all > 0) {
        MPI_Testany(n, requests, &i, &done, MPI_STATUS_IGNORE);
        if (!done || MPI_UNDEFINED != i) fail(NULL, "the index where all is complete", i, MPI_UNDEFINED);
      }
      break;
    default:
      while (left > 0) {
        int some = 0;
        if (WAITSOME == batch->way)
          MPI_Waitsome(n, requests, &some, indices, to);
        else
          MPI_Testsome(n, requests, &some, indices, to);
        if (MPI_UNDEFINED == some) fail(NULL, "requests that are not complete", left, 0);
        for (int k = 0; k < some; ++k) ended(batch, indices[k], ONE(&statuses[k]));
        left -= some;
      }
  }
  for (i = 0; i < n; ++i) {
    if (NULL == batch->ops[i]) continue;
    const int lasts = PERSISTENT == batch->ops[i]->form;
    if (lasts != (MPI_REQUEST_NULL != requests[i]))
      fail(batch->ops[i], "a handle behind its end is null", !lasts, lasts);
    batch->ops[i]->request = requests[i];
  }
}

static void* complete_in_thread(void* batch) {
  complete(batch);
  return NULL;
}

static void choose_way(struct batch* batch) {
  batch->way = own_draw(WAYS);
  batch->draws = (unsigned)own_draw(1 << 20);
}

static void complete_all(struct batch* batch) {
  if (0 == batch->count) return;
  if (!is_threaded || batch->count < 2) {
    choose_way(batch);
    complete(batch);
    return;
  }
  struct batch other = {0};
  while (other.count < batch->count) other.ops[other.count++] = batch->ops[--batch->count];
  choose_way(batch);
  choose_way(&other);
  pthread_t thread;
  if (0 != pthread_create(&thread, NULL, complete_in_thread, &other)) fail(NULL, "a thread", 0, 1);
  complete(batch);
  pthread_join(thread, NULL);
  while (other.count > 0) batch->ops[batch->count++] = other.ops[--other.count];
}

/* Completes those for which `chosen` returns true, with inactive requests and MPI_REQUEST_NULL between them. */
static void complete_those(int (*chosen)(const struct op*, const void*), const void* about) {
  struct batch batch = {0};
  for (int i = 0; i < pendings; ++i)
    if (chosen(pending[i], about)) batch.ops[batch.count++] = pending[i];
  for (int i = 0; i < PERSISTENT_MAX; ++i)
    if (NULL != persistent[i] && (chosen(persistent[i], about) || (!persistent[i]->is_active && 0 == own_draw(3))))
      batch.ops[batch.count++] = persistent[i];
  if (0 == own_draw(2)) batch.ops[batch.count++] = NULL;
  for (int i = batch.count - 1; i > 0; --i) {
    const int at = own_draw(i + 1);
    struct op* one = batch.ops[i];
    batch.ops[i] = batch.ops[at], batch.ops[at] = one;
  }
  struct op* were_active[PENDING_MAX + PERSISTENT_MAX + 4];
  int active = 0, kept = 0;
  for (int i = 0; i < batch.count; ++i)
    if (NULL != batch.ops[i] && batch.ops[i]->is_active) were_active[active++] = batch.ops[i];
  complete_all(&batch);
  for (int i = 0; i < active; ++i) finish(were_active[i]);
  for (int i = 0; i < pendings; ++i) {
    if (pending[i]->is_active)
      pending[kept++] = pending[i];
    else
      drop(pending[i]);
  }
  pendings = kept;
}

static int is_any(const struct op* op, const void* about) { return (void)about, op->is_active; }
static int is_sometimes(const struct op* op, const void* about) { return (void)about, op->is_active && own_draw(2); }
static int is_this(const struct op* op, const void* about) { return op->is_active && op == about; }
static int is_on(const struct op* op, const void* about) { return op->is_active && op->on == *(const int*)about; }

/* ---- the plan ---- */

static void add(struct op* op) {
  if (pendings == PENDING_MAX) complete_those(is_sometimes, NULL);
  if (pendings == PENDING_MAX) complete_those(is_any, NULL);
  pending[pendings++] = op;
}

static void begin(int slot, enum form form) {
  if (PERSISTENT == form && is_careful && over_hosts) return;
  struct op* op = draw_op(comms[slot].comm, form, PERSISTENT == form && is_careful ? LEFT : KINDS);
  op->on = slot;
  const int at = draw(PERSISTENT_MAX);
  if (PERSISTENT == form && NULL != persistent[at]) {
    complete_those(is_this, persistent[at]);
    MPI_Request_free(&persistent[at]->request);
    drop(persistent[at]);
    persistent[at] = NULL;
  }
  if (MPI_SUCCESS != call(op)) fail(op, "code of a call", 1, MPI_SUCCESS);
  op->is_safe = is_early && op->kind < LEFT && op->size > 1 && (PERSISTENT == form ? !over_hosts : comms[slot].works);
  if (op->is_safe) free_handles(op);
  if (BLOCKING == form) {
    comms[slot].works |= op->kind < LEFT;
    check(op);
    drop(op);
  } else if (NONBLOCKING == form) {
    op->is_active = 1;
    add(op);
  } else {
    comms[slot].works |= op->kind < LEFT;
    persistent[at] = op;
  }
}

/* Every rank sends to the one behind it. */
static void send_messages(void) {
  const int far = draw(world_size), ints = draw_ints(6);
  for (int receives = 0; receives < 2; ++receives) {
    struct op* op = message(receives, (world_rank + (receives ? world_size - far : far)) % world_size, ints);
    if (receives)
      MPI_Irecv(op->out.data, op->out.counts[0], op->out.type.handle, op->peer, op->number, MPI_COMM_WORLD,
                &op->request);
    else
      MPI_Isend(op->in.data, op->in.counts[0], op->in.type.handle, op->peer, op->number, MPI_COMM_WORLD, &op->request);
    free_handles(op);
    op->is_active = 1;
    add(op);
  }
}

/* Starts some persistent collectives, each rank in an order of its own. */
static void start(void) {
  const int down = own_draw(2), at_once = own_draw(2);
  int chosen[PERSISTENT_MAX], count = 0;
  MPI_Request requests[PERSISTENT_MAX];
  for (int i = 0; i < PERSISTENT_MAX; ++i) chosen[i] = draw(3) > 0 && NULL != persistent[i];
  for (int i = 0; i < PERSISTENT_MAX; ++i)
    if (chosen[i]) complete_those(is_this, persistent[i]);
  for (int k = 0; k < PERSISTENT_MAX; ++k) {
    const int i = down ? PERSISTENT_MAX - 1 - k : k;
    if (!chosen[i]) continue;
    ++persistent[i]->round;
    fill(persistent[i]);
    persistent[i]->is_active = 1;
    if (!at_once) MPI_Start(&persistent[i]->request);
    requests[count++] = persistent[i]->request;
  }
  if (at_once) MPI_Startall(count, requests);
}

static int pick(void) {
  int slot = draw(COMMS);
  while (!comms[slot].used) slot = (slot + 1) % COMMS;
  return slot;
}

static void make(void) {
  const int from = pick(), way = draw(3);
  if (is_mild) complete_those(is_on, &from);
  for (int slot = 1; slot < COMMS; ++slot) {
    if (comms[slot].used) continue;
    comms[slot] = (struct comm){MPI_COMM_NULL, 1, 0};
    if (way < 2)
      MPI_Comm_dup(comms[from].comm, &comms[slot].comm);
    else /* Ranks in another order: all of them, so that the plan is everybody's. */
      MPI_Comm_split(comms[from].comm, 0, (int)(mix((uint64_t)(world_rank + 7 * step)) % 1000), &comms[slot].comm);
    if (draw(3)) begin(slot, BLOCKING);
    return;
  }
}

/* Frees a communicator, mostly under what is pending on it. What the MPI alone would have to do there ends first. */
static void free_comm(void) {
  const int slot = pick(), waits = draw(3) == 0 || !is_early;
  if (WORLD == slot) return;
  int all_safe = 1;
  for (int i = 0; i < pendings; ++i) all_safe &= pending[i]->on != slot || pending[i]->is_safe;
  for (int i = 0; i < PERSISTENT_MAX; ++i)
    if (NULL != persistent[i] && persistent[i]->on == slot && (!persistent[i]->is_safe || waits)) {
      complete_those(is_this, persistent[i]);
      MPI_Request_free(&persistent[i]->request);
      drop(persistent[i]);
      persistent[i] = NULL;
    }
  if (waits || !all_safe) complete_those(is_on, &slot);
  MPI_Comm_free(&comms[slot].comm);
  comms[slot].used = 0;
  for (int i = 0; i < pendings; ++i)
    if (pending[i]->on == slot) pending[i]->on = -1;
  for (int i = 0; i < PERSISTENT_MAX; ++i)
    if (NULL != persistent[i] && persistent[i]->on == slot) persistent[i]->on = -1;
}

static void take_step(void) {
  const int what = draw(24);
  if (what < 3)
    begin(pick(), BLOCKING);
  else if (what < 10)
    begin(pick(), NONBLOCKING);
  else if (what < 12)
    begin(pick(), PERSISTENT);
  else if (what < 15)
    start();
  else if (what < 18)
    send_messages();
  else if (what < 20)
    complete_those(is_sometimes, NULL);
  else if (what < 21)
    complete_those(is_any, NULL);
  else if (what < 23)
    make();
  else
    free_comm();
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  for (int i = 3; i < argc; ++i) {
    is_early |= 0 == strcmp(argv[i], "early");
    is_careful |= 0 == strcmp(argv[i], "careful");
    over_hosts |= 0 == strcmp(argv[i], "hosts");
    is_mild |= 0 == strcmp(argv[i], "mild");
    is_threaded |= 0 == strcmp(argv[i], "threads");
  }
  MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  is_threaded = is_threaded && MPI_THREAD_MULTIPLE == level;
  begin_draws(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
  const int steps = argc > 2 ? atoi(argv[2]) : 150;
  comms[WORLD] = (struct comm){MPI_COMM_WORLD, 1, 0};
  for (step = 1; step <= steps; ++step) take_step();
  complete_those(is_any, NULL);
  for (int i = 0; i < PERSISTENT_MAX; ++i)
    if (NULL != persistent[i] && draw(4)) MPI_Request_free(&persistent[i]->request);
  for (int i = 1; i < COMMS; ++i)
    if (comms[i].used) MPI_Comm_free(&comms[i].comm);
  if (0 == world_rank) printf("requests: seed %llu: %d right\n", (unsigned long long)seed, checked);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
