/* The calls of the NCCL plugin: a context and a job of its own for each communicator, local rank 0 for every rank,
 * thread support on, out-of-band functions that work inside init and comm_init only, req_test as the only call that
 * makes progress, and requests that may be NULL. */
#include "oob.h"

static int may_call; /* out-of-band functions are gone at any other time */
static int strict_bcast(void* comm, void* buffer, int length, int root) {
  MUST(may_call);
  return oob_bcast(comm, buffer, length, root);
}
static int strict_barrier(void* comm) {
  MUST(may_call);
  return oob_barrier(comm);
}
static int strict_gather(void* comm, int root, void* mine, void* all, int length) {
  MUST(may_call);
  return oob_gather(comm, root, mine, all, length);
}

struct coll_comm {
  MPI_Comm members;
  int rank, size;
  struct sharp_coll_context* context;
  struct sharp_coll_comm* group;
};

static void connect_comm(struct coll_comm* c, MPI_Comm members) {
  c->members = members;
  MPI_Comm_rank(members, &c->rank);
  MPI_Comm_size(members, &c->size);
  char device[32];
  snprintf(device, sizeof device, "mlx5_0:1"); /* on the stack: gone after the call */
  struct sharp_coll_init_spec init;
  POISON(init);
  init.progress_func = NULL;
  init.job_id = job_id_of(members);
  init.oob_colls.barrier = strict_barrier;
  init.oob_colls.bcast = strict_bcast;
  init.oob_colls.gather = strict_gather;
  init.oob_ctx = &c->members;
  init.world_rank = c->rank;
  init.world_size = c->size;
  init.world_local_rank = 0;
  init.group_channel_idx = 0;
  init.enable_thread_support = 1;
  init.config = sharp_coll_default_config;
  init.config.user_progress_num_polls = 10000000;
  init.config.ib_dev_list = device;
  may_call = 1;
  MUST(sharp_coll_init(&init, &c->context) >= 0);
  memset(device, 'x', sizeof device);
  struct sharp_coll_caps caps;
  MUST(sharp_coll_caps_query(c->context, &caps) >= 0);
  MUST((caps.support_mask.dtypes & (1u << SHARP_DTYPE_INT8)) != 0);
  struct sharp_coll_comm_init_spec spec;
  POISON(spec);
  spec.rank = c->rank;
  spec.size = c->size;
  spec.oob_ctx = &c->members;
  spec.group_world_ranks = NULL;
  MUST(sharp_coll_comm_init(c->context, &spec, &c->group) >= 0);
  may_call = 0;
}

static void* registered(struct coll_comm* c, void* buffer, size_t bytes) {
  struct sharp_coll_reg_params params;
  POISON(params);
  params.field_mask = SHARP_COLL_REG_FIELD_DMABUF_FD | SHARP_COLL_REG_FIELD_DMABUF_OFFSET;
  params.dmabuf_fd = -1;
  params.dmabuf_offset = 0;
  void* handle = NULL;
  MUST(sharp_coll_reg_mr_v2(c->context, buffer, bytes, &params, &handle) == SHARP_COLL_SUCCESS);
  return handle;
}

static void wait_for(void* request) {
  int done = 0;
  while (!done) done = sharp_coll_req_test(request);
  MUST(done == 1);
  (void)sharp_coll_req_free(request);
}

/* Sets type and buffer only: the library must find out the kind of memory. */
static void bare_buffer(struct sharp_coll_data_desc* desc, void* buffer, size_t bytes, void* handle) {
  desc->type = SHARP_DATA_BUFFER;
  desc->buffer.ptr = buffer;
  desc->buffer.length = bytes;
  desc->buffer.mem_handle = handle;
}

static void allreduce(struct coll_comm* c, size_t count) {
  float *in = malloc(count * sizeof(float)), *out = malloc(count * sizeof(float));
  MUST(in != NULL && out != NULL);
  for (size_t i = 0; i < count; ++i) in[i] = (float)(i % 100) + (float)c->rank;
  void *send = registered(c, in, count * sizeof(float)), *receive = registered(c, out, count * sizeof(float));
  struct sharp_coll_reduce_spec spec;
  POISON(spec);
  bare_buffer(&spec.sbuf_desc, in, count * sizeof(float), send);
  bare_buffer(&spec.rbuf_desc, out, count * sizeof(float), receive);
  spec.sbuf_desc.mem_type = spec.rbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
  spec.length = count;
  spec.dtype = SHARP_DTYPE_FLOAT;
  spec.op = SHARP_OP_SUM;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  void* request = NULL;
  MUST(sharp_coll_do_allreduce_nb(c->group, &spec, &request) == SHARP_COLL_SUCCESS);
  wait_for(request);
  for (size_t i = 0; i < count; ++i)
    MUST(out[i] == (float)(c->size * (int)(i % 100)) + (float)(c->size * (c->size - 1) / 2));
  /* A post that is refused only warns; its NULL request is tested and freed like any other. */
  spec.op = SHARP_OP_BAND;
  request = in;
  MUST(sharp_coll_do_allreduce_nb(c->group, &spec, &request) == SHARP_COLL_ENOT_SUPP && request == NULL);
  MUST(sharp_coll_req_test(request) == 1 && sharp_coll_req_free(request) == SHARP_COLL_SUCCESS);
  MUST(sharp_coll_dereg_mr(c->context, send) == SHARP_COLL_SUCCESS);
  MUST(sharp_coll_dereg_mr(c->context, receive) == SHARP_COLL_SUCCESS);
  free(in);
  free(out);
}

/* Sends windows, as the plugin's proxy does when a message does not fit its buffers; `size` is the window's bytes. */
static void windows(struct coll_comm* c, size_t each, size_t step) {
  const size_t whole = each * (size_t)c->size, mine = each * (size_t)c->rank;
  unsigned char *in = malloc(whole), *out = malloc(whole), *part = malloc(each);
  MUST(in != NULL && out != NULL && part != NULL);
  for (size_t i = 0; i < whole; ++i) in[i] = (unsigned char)(i * 3 + (size_t)c->rank);
  void *from = registered(c, in, whole), *to = registered(c, out, whole);
  memset(out, 0, whole);
  memset(part, 0, each);
  for (size_t offset = 0; offset < whole; offset += step) {
    const size_t window = whole - offset < step ? whole - offset : step;
    const size_t begin = offset > mine ? offset : mine; /* first byte of our part that lies in the window */
    const size_t within = begin < mine + each ? begin - mine : 0;
    struct sharp_coll_gather_spec gather;
    POISON(gather);
    bare_buffer(&gather.sbuf_desc, in + mine + within, each, from);
    bare_buffer(&gather.rbuf_desc, out + offset, window, to);
    gather.dtype = SHARP_DTYPE_INT8;
    gather.size = window;
    gather.offset = offset;
    void* request = NULL;
    MUST(sharp_coll_do_allgather_nb(c->group, &gather, &request) == SHARP_COLL_SUCCESS);
    wait_for(request);
    struct sharp_coll_reduce_spec reduce;
    POISON(reduce);
    bare_buffer(&reduce.sbuf_desc, in + offset, window, from);
    bare_buffer(&reduce.rbuf_desc, part + within, each, NULL);
    reduce.sbuf_desc.mem_type = reduce.rbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
    reduce.dtype = SHARP_DTYPE_UINT8;
    reduce.op = SHARP_OP_SUM;
    reduce.length = window; /* elements of the window, while other clients pass those of a rank */
    reduce.offset = offset;
    reduce.aggr_mode = SHARP_AGGREGATION_NONE;
    MUST(sharp_coll_do_reduce_scatter_nb(c->group, &reduce, &request) == SHARP_COLL_SUCCESS);
    wait_for(request);
  }
  for (size_t i = 0; i < whole; ++i) MUST(out[i] == (unsigned char)(i * 3 + i / each));
  for (size_t i = 0; i < each; ++i)
    MUST(part[i] == (unsigned char)((size_t)c->size * 3 * (mine + i) + (size_t)(c->size * (c->size - 1) / 2)));
  MUST(sharp_coll_dereg_mr(c->context, from) == SHARP_COLL_SUCCESS);
  MUST(sharp_coll_dereg_mr(c->context, to) == SHARP_COLL_SUCCESS);
  free(in);
  free(out);
  free(part);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  /* The plugin itself sets these, just before its first communicator. */
  setenv("SHARP_COLL_ENABLE_SAT", "1", 0);
  setenv("SHARP_COLL_NUM_COLL_GROUP_RESOURCE_ALLOC_THRESHOLD", "0", 0);
  setenv("SHARP_COLL_LOCK_ON_COMM_INIT", "1", 0);
  setenv("SHARP_COLL_LOG_LEVEL", "3", 0);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm world, halves;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves); /* each half is reversed, and may be one rank alone */
  struct coll_comm comms[2];
  connect_comm(&comms[0], world);
  connect_comm(&comms[1], halves);
  const size_t counts[] = {1, 1000, 200000};
  for (int i = 0; i < 3; ++i)
    for (int c = 0; c < 2; ++c) {
      allreduce(&comms[c], counts[i]);
      windows(&comms[c], counts[i], 2 * counts[i]);
      windows(&comms[c], counts[i] + 1, counts[i] / 2 + 1);
    }
  for (int c = 1; c >= 0; --c) {
    MUST(sharp_coll_comm_destroy(comms[c].group) == SHARP_COLL_SUCCESS);
    MUST(sharp_coll_finalize(comms[c].context) == SHARP_COLL_SUCCESS);
    MPI_Comm_free(&comms[c].members);
  }
  if (rank == 0) puts("nccl-plugin: passed");
  MPI_Finalize();
  return 0;
}
