/* The calls of UCC's TL/SHARP in its order: one context, a group for each team, every collective nonblocking, with a
 * registration around it, garbage in the fields that it does not set, and a completion that only req_test reports. */
#include "oob.h"

#include <unistd.h>

static struct sharp_coll_context* context;
static struct sharp_coll_comm* group;
static int rank, size;

/* Registers whole pages around the buffer, as UCC's registration cache does. */
static void* registered(void* buffer, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t from = (uintptr_t)buffer & ~(page - 1), to = ((uintptr_t)buffer + bytes + page - 1) & ~(page - 1);
  void* handle = NULL;
  MUST(sharp_coll_reg_mr(context, (void*)from, to - from, &handle) == SHARP_COLL_SUCCESS);
  return handle;
}

static void finish(void* request, void* handle) {
  while (sharp_coll_req_test(request) == 0) (void)sharp_coll_progress(context);
  MUST(sharp_coll_dereg_mr(context, handle) == SHARP_COLL_SUCCESS);
  MUST(sharp_coll_req_free(request) == SHARP_COLL_SUCCESS);
}

static void allreduce(int count) {
  int* data = malloc(sizeof(int) * (size_t)count + 1);
  MUST(data != NULL);
  for (int i = 0; i < count; ++i) data[i] = i + rank;
  void *handle = registered(data, sizeof(int) * (size_t)count), *request = NULL;
  struct sharp_coll_reduce_spec spec;
  POISON(spec);
  describe(&spec.sbuf_desc, data, sizeof(int) * (size_t)count, handle);
  describe(&spec.rbuf_desc, data, sizeof(int) * (size_t)count, handle); /* the operation is in place */
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  spec.length = (size_t)count;
  spec.dtype = SHARP_DTYPE_INT;
  spec.op = SHARP_OP_SUM;
  MUST(sharp_coll_do_allreduce_nb(group, &spec, &request) == SHARP_COLL_SUCCESS);
  finish(request, handle);
  for (int i = 0; i < count; ++i) MUST(data[i] == size * i + size * (size - 1) / 2);
  /* MAXLOC with UCC's ordinary types and without a tag type is refused, and nothing breaks. */
  spec.op = SHARP_OP_MAXLOC;
  MUST(sharp_coll_do_allreduce_nb(group, &spec, &request) == SHARP_COLL_ENOT_SUPP && request == NULL);
  free(data);
}

static void reduce_scatter(size_t each) {
  unsigned char *in = malloc(each * (size_t)size), *out = malloc(each);
  MUST(in != NULL && out != NULL);
  for (size_t i = 0; i < each * (size_t)size; ++i) in[i] = (unsigned char)(i + (size_t)rank);
  void *handle = registered(in, each * (size_t)size), *request = NULL;
  struct sharp_coll_reduce_spec spec;
  POISON(spec);
  describe(&spec.sbuf_desc, in, each * (size_t)size, handle);
  describe(&spec.rbuf_desc, out, each, NULL);
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  spec.length = each;
  spec.offset = 0;
  spec.dtype = SHARP_DTYPE_UINT8;
  spec.op = SHARP_OP_SUM;
  MUST(sharp_coll_do_reduce_scatter_nb(group, &spec, &request) == SHARP_COLL_SUCCESS);
  finish(request, handle);
  for (size_t i = 0; i < each; ++i) {
    const size_t at = (size_t)rank * each + i;
    MUST(out[i] == (unsigned char)((size_t)size * at + (size_t)(size * (size - 1) / 2)));
  }
  free(in);
  free(out);
}

static void allgather(size_t each) {
  unsigned char *in = malloc(each), *out = malloc(each * (size_t)size);
  MUST(in != NULL && out != NULL);
  memset(in, rank + 1, each);
  void *handle = registered(in, each), *request = NULL;
  struct sharp_coll_gather_spec spec;
  POISON(spec); /* the field `size` is never set */
  describe(&spec.sbuf_desc, in, each, handle);
  describe(&spec.rbuf_desc, out, each * (size_t)size, NULL);
  spec.dtype = SHARP_DTYPE_INT8;
  spec.offset = 0;
  MUST(sharp_coll_do_allgather_nb(group, &spec, &request) == SHARP_COLL_SUCCESS);
  finish(request, handle);
  for (size_t i = 0; i < each * (size_t)size; ++i) MUST(out[i] == (unsigned char)(i / each + 1));
  free(in);
  free(out);
}

static void bcast(size_t bytes, int root) {
  unsigned char* data = malloc(bytes);
  MUST(data != NULL);
  memset(data, rank == root ? 77 : 0, bytes);
  void *handle = registered(data, bytes), *request = NULL;
  struct sharp_coll_bcast_spec spec;
  POISON(spec);
  describe(&spec.buf_desc, data, bytes, handle);
  spec.size = bytes;
  spec.root = root;
  MUST(sharp_coll_do_bcast_nb(group, &spec, &request) == SHARP_COLL_SUCCESS);
  finish(request, handle);
  for (size_t i = 0; i < bytes; ++i) MUST(data[i] == 77);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  struct sharp_coll_init_spec init;
  POISON(init);
  describe_job(&init, &world, rank, size);
  init.progress_func = NULL;
  init.group_channel_idx = 0;
  init.config = sharp_coll_default_config;
  init.config.ib_dev_list = "";
  init.config.user_progress_num_polls = 9999;
  init.config.flags = SHARP_COLL_HIDE_ERRORS | SHARP_COLL_DISABLE_LAZY_GROUP_RESOURCE_ALLOC;
  init.enable_thread_support = 0;
  MUST(sharp_coll_init(&init, &context) >= 0);
  struct sharp_coll_caps caps;
  POISON(caps);
  MUST(sharp_coll_caps_query(context, &caps) >= 0);
  for (int type = SHARP_DTYPE_BFLOAT16; type <= SHARP_DTYPE_INT8; ++type)
    MUST((caps.support_mask.dtypes >> type & 1) == 1);
  MUST((caps.support_mask.feature_mask & SHARP_FEATURE_SAT) !=
       0); /* without it UCC uses neither allgather nor reduce_scatter */
  for (int team = 0; team < 3; ++team) {
    MPI_Comm members;
    MPI_Comm_dup(world, &members);
    struct sharp_coll_comm_init_spec spec;
    POISON(spec);
    spec.rank = rank;
    spec.size = size;
    spec.group_world_ranks = NULL;
    spec.oob_ctx = &members;
    MUST(sharp_coll_comm_init(context, &spec, &group) >= 0);
    MUST((int)sharp_coll_progress(context) == 0);
    void* request = NULL;
    MUST(sharp_coll_do_barrier_nb(group, &request) == SHARP_COLL_SUCCESS);
    while (sharp_coll_req_test(request) == 0) continue;
    MUST(sharp_coll_req_free(request) == SHARP_COLL_SUCCESS);
    const int counts[] = {1, 33, 5000, 300000};
    for (int i = 0; i < 4; ++i) {
      allreduce(counts[i]);
      reduce_scatter((size_t)counts[i]);
      allgather((size_t)counts[i]);
      bcast((size_t)counts[i] | 1, i % size);
    }
    MUST(sharp_coll_comm_destroy(group) == SHARP_COLL_SUCCESS);
    MPI_Comm_free(&members);
  }
  MUST(sharp_coll_finalize(context) == SHARP_COLL_SUCCESS);
  if (rank == 0) puts("ucc-order: passed");
  MPI_Finalize();
  return 0;
}
