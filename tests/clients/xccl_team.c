/* The calls of XCCL's team_sharp: a team has ten registered bounce buffers, each with room for a message and its
 * result; larger messages use a cache of registrations or a registration of their own. It uses only barrier and
 * allreduce, nonblocking, and req_test alone, compared with 1; every operation is passed on, also those that may not
 * be supported. */
#include <sharp/api/version.h>

#include "oob.h"

#if SHARP_API < SHARP_VERSION(1, 0)
#error version.h
#endif

#define BOUNCE_BUFFERS 10
#define BOUNCE_BYTES 1024

static struct sharp_coll_context* context;
static int rank, size;

struct bounce {
  char out[BOUNCE_BYTES], in[BOUNCE_BYTES]; /* one registration serves both */
  void *handle, *request, *user;
  size_t bytes;
};

struct team {
  struct sharp_coll_comm* comm;
  struct bounce bounce[BOUNCE_BUFFERS];
};

static int post(struct team* team, enum sharp_reduce_op op, size_t count, void* in, void* out, void* in_handle,
                void* out_handle, void** request) {
  struct sharp_coll_reduce_spec spec;
  POISON(spec); /* root, tag_dtype, stream_lock_batch_size, offset and reserved fields have the stack's old content */
  describe(&spec.sbuf_desc, in, count * sizeof(int), in_handle);
  describe(&spec.rbuf_desc, out, count * sizeof(int), out_handle);
  spec.dtype = SHARP_DTYPE_INT;
  spec.length = count;
  spec.op = op;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return sharp_coll_do_allreduce_nb(team->comm, &spec, request);
}

static void finish(void* request) {
  while (sharp_coll_req_test(request) != 1) continue;
  MUST(sharp_coll_req_test(request) == 1); /* a completed request stays complete */
  MUST(sharp_coll_req_free(request) == SHARP_COLL_SUCCESS);
}

static void finish_bounced(struct bounce* bounce) {
  if (bounce->request == NULL) return;
  finish(bounce->request);
  memcpy(bounce->user, bounce->in, bounce->bytes);
  bounce->request = NULL;
}

static void open_team(struct team* team, MPI_Comm* members) {
  struct sharp_coll_comm_init_spec spec;
  POISON(spec);
  spec.rank = rank;
  spec.size = size;
  spec.group_world_ranks = NULL;
  spec.oob_ctx = members;
  MUST(sharp_coll_comm_init(context, &spec, &team->comm) == SHARP_COLL_SUCCESS);
  for (int i = 0; i < BOUNCE_BUFFERS; ++i) {
    struct bounce* bounce = &team->bounce[i];
    memset(bounce, 0, sizeof *bounce);
    MUST(sharp_coll_reg_mr(context, bounce->out, 2 * BOUNCE_BYTES, &bounce->handle) == SHARP_COLL_SUCCESS);
  }
}

static void close_team(struct team* team) {
  for (int i = 0; i < BOUNCE_BUFFERS; ++i) {
    MUST(team->bounce[i].request == NULL);
    MUST(sharp_coll_dereg_mr(context, team->bounce[i].handle) == SHARP_COLL_SUCCESS);
  }
  MUST(sharp_coll_comm_destroy(team->comm) == SHARP_COLL_SUCCESS);
}

static void barrier(struct team* team) {
  void* request = NULL;
  MUST(sharp_coll_do_barrier_nb(team->comm, &request) == SHARP_COLL_SUCCESS);
  finish(request);
}

/* Sends small messages, ten in flight at a time. */
static void bounced(struct team* team) {
  enum { kMessages = 200, kIntsMax = BOUNCE_BYTES / (int)sizeof(int) };
  static int data[kMessages][kIntsMax];
  for (int n = 0; n < kMessages; ++n) {
    struct bounce* bounce = &team->bounce[n % BOUNCE_BUFFERS];
    finish_bounced(bounce);
    const size_t count = (size_t)(1 + n * 37 % kIntsMax);
    for (size_t i = 0; i < count; ++i) data[n][i] = n + (int)i + rank;
    bounce->bytes = count * sizeof(int);
    bounce->user = data[n]; /* the operation is in place */
    memcpy(bounce->out, data[n], bounce->bytes);
    MUST(post(team, SHARP_OP_SUM, count, bounce->out, bounce->in, bounce->handle, bounce->handle, &bounce->request) ==
         SHARP_COLL_SUCCESS);
  }
  for (int i = 0; i < BOUNCE_BUFFERS; ++i) finish_bounced(&team->bounce[i]);
  for (int n = 0; n < kMessages; ++n)
    for (int i = 0; i < 1 + n * 37 % kIntsMax; ++i) MUST(data[n][i] == size * (n + i) + size * (size - 1) / 2);
}

/* Sends large messages: with one registration for all calls, and with one for each call. */
static void registered(struct team* team) {
  const size_t most = 100 * 1000;
  int *in = malloc(most * sizeof *in), *out = malloc(most * sizeof *out);
  void *kept = NULL, *request = NULL;
  MUST(in != NULL && out != NULL);
  MUST(sharp_coll_reg_mr(context, in, most * sizeof *in, &kept) == SHARP_COLL_SUCCESS);
  for (size_t count = 257; count <= most; count *= 5) {
    void* own = NULL;
    for (size_t i = 0; i < count; ++i) in[i] = (int)i * (rank + 1);
    MUST(sharp_coll_reg_mr(context, out, count * sizeof *out, &own) == SHARP_COLL_SUCCESS);
    MUST(post(team, SHARP_OP_SUM, count, in, out, kept, own, &request) == SHARP_COLL_SUCCESS);
    finish(request);
    MUST(sharp_coll_dereg_mr(context, own) == SHARP_COLL_SUCCESS);
    for (size_t i = 0; i < count; ++i) MUST(out[i] == (int)i * (size * (size + 1) / 2));
  }
  MUST(sharp_coll_dereg_mr(context, kept) == SHARP_COLL_SUCCESS);
  free(in);
  free(out);
}

/* PROD follows caps; MAXLOC and MINLOC come without a tag type: they are refused, and nothing breaks. */
static void passed_through(struct team* team) {
  struct sharp_coll_caps caps;
  int in[2] = {rank + 1, 3}, out[2] = {0, 0}, product = 1, power = 1;
  void* request = &caps;
  MUST(sharp_coll_caps_query(context, &caps) == SHARP_COLL_SUCCESS);
  const int status = post(team, SHARP_OP_PROD, 2, in, out, NULL, NULL, &request);
  if ((caps.support_mask.reduce_ops >> SHARP_OP_PROD & 1) == 0) {
    MUST(status == SHARP_COLL_ENOT_SUPP);
  } else {
    MUST(status == SHARP_COLL_SUCCESS);
    finish(request);
    for (int i = 0; i < size; ++i) product *= i + 1, power *= 3;
    MUST(out[0] == product && out[1] == power);
  }
  for (int op = SHARP_OP_MAXLOC; op <= SHARP_OP_MINLOC; ++op) {
    request = &caps;
    MUST(post(team, (enum sharp_reduce_op)op, 1, in, out, NULL, NULL, &request) == SHARP_COLL_ENOT_SUPP);
    MUST(request == NULL);
  }
  barrier(team);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  setenv("SHARP_COLL_NUM_COLL_GROUP_RESOURCE_ALLOC_THRESHOLD", "0", 0);
  struct sharp_coll_init_spec init;
  POISON(init);
  init.progress_func = NULL;
  describe_job(&init, &world, rank, size);
  init.group_channel_idx = 0;
  init.enable_thread_support = 1;
  init.config = sharp_coll_default_config;
  init.config.user_progress_num_polls = 10000000;
  init.config.ib_dev_list = "mlx5_0:1";
  MUST(sharp_coll_init(&init, &context) == SHARP_COLL_SUCCESS);
  static struct team teams[3];
  MPI_Comm members[3];
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(world, &members[i]);
    open_team(&teams[i], &members[i]);
  }
  for (int i = 2; i >= 0; --i) {
    barrier(&teams[i]);
    bounced(&teams[i]);
    registered(&teams[i]);
    passed_through(&teams[i]);
  }
  for (int i = 0; i < 3; ++i) {
    close_team(&teams[i]);
    MPI_Comm_free(&members[i]);
  }
  MUST(sharp_coll_finalize(context) == SHARP_COLL_SUCCESS);
  if (rank == 0) puts("xccl-team: passed");
  MPI_Finalize();
  return 0;
}
