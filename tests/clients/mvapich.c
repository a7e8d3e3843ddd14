/* The calls of MVAPICH: the library is loaded by name at run time, each function by dlsym, with a
 * sharp_coll_default_config of its own in the program, print_config with two arguments, garbage in fields that it
 * does not set, blocking calls on memory that is not registered, groups of node leaders only. */
#include <dlfcn.h>

#include "oob.h"

/* MVAPICH's sources define this too. The library must not see it. */
const struct sharp_coll_config sharp_coll_default_config = {"mlx5_0", 128, 100, 0, {0, 0, 0}};

static void* library;
static void* find(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fprintf(stderr, "%s is missing\n", name);
  MUST(found != NULL);
  return found;
}
#define TAKE(name) *(void**)&name = find("sharp_coll_" #name)

static int (*init)(struct sharp_coll_init_spec*, struct sharp_coll_context**);
static int (*finalize)(struct sharp_coll_context*);
static int (*caps_query)(struct sharp_coll_context*, struct sharp_coll_caps*);
static int (*progress)(struct sharp_coll_context*);
static int (*comm_init)(struct sharp_coll_context*, struct sharp_coll_comm_init_spec*, struct sharp_coll_comm**);
static int (*comm_destroy)(struct sharp_coll_comm*);
static int (*do_barrier)(struct sharp_coll_comm*);
static int (*do_barrier_nb)(struct sharp_coll_comm*, void**);
static int (*do_allreduce)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*);
static int (*do_allreduce_nb)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*, void**);
static int (*do_reduce)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*);
static int (*do_reduce_nb)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*, void**);
static int (*do_bcast)(struct sharp_coll_comm*, struct sharp_coll_bcast_spec*);
static int (*do_bcast_nb)(struct sharp_coll_comm*, struct sharp_coll_bcast_spec*, void**);
static int (*req_test)(void*);
static int (*req_wait)(void*);
static int (*req_free)(void*);
static int (*reg_mr)(struct sharp_coll_context*, void*, size_t, void**);
static int (*dereg_mr)(struct sharp_coll_context*, void*);
static int (*print_config)(FILE*, enum config_print_flags); /* the library's older prototype */
static const char* (*strerror_of)(int);
static int (*dump_stats)(struct sharp_coll_context*);
static int (*log_early_init)(void);

static MPI_Comm current; /* the callbacks of MVAPICH ignore their context */
static int plain_bcast(void* unused, void* buffer, int length, int root) {
  (void)unused;
  return oob_bcast(&current, buffer, length, root);
}
static int plain_barrier(void* unused) {
  (void)unused;
  return oob_barrier(&current);
}
static int plain_gather(void* unused, int root, void* mine, void* all, int length) {
  (void)unused;
  return oob_gather(&current, root, mine, all, length);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  library = dlopen("libsharp_coll.so", RTLD_NOW);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  MUST(library != NULL);
  TAKE(init), TAKE(finalize), TAKE(caps_query), TAKE(progress), TAKE(comm_init), TAKE(comm_destroy), TAKE(do_barrier);
  TAKE(do_barrier_nb), TAKE(do_allreduce), TAKE(do_allreduce_nb), TAKE(do_reduce), TAKE(do_reduce_nb), TAKE(do_bcast);
  TAKE(do_bcast_nb), TAKE(req_test), TAKE(req_wait), TAKE(req_free), TAKE(reg_mr), TAKE(dereg_mr), TAKE(print_config);
  TAKE(dump_stats), TAKE(log_early_init);
  *(void**)&strerror_of = find("sharp_coll_strerror");
  (void)log_early_init();
  FILE* nowhere = fopen("/dev/null", "w");
  MUST(nowhere != NULL && print_config(nowhere, SHARP_COLL_CONFIG_PRINT_CONFIG) == SHARP_COLL_SUCCESS);
  fclose(nowhere);

  current = MPI_COMM_WORLD;
  struct sharp_coll_init_spec spec;
  POISON(spec);                                   /* oob_ctx stays garbage */
  spec.job_id = job_id_of(current) % 1000000 + 1; /* MVAPICH passes the process manager's small number */
  spec.world_rank = rank;
  spec.world_size = size;
  spec.world_local_rank = rank;
  spec.progress_func = NULL;
  spec.group_channel_idx = 0;
  spec.enable_thread_support = 0;
  spec.oob_colls.bcast = plain_bcast;
  spec.oob_colls.barrier = plain_barrier;
  spec.oob_colls.gather = plain_gather;
  spec.config = sharp_coll_default_config; /* its own, with the adapter that it names */
  struct sharp_coll_context* context = NULL;
  const int status = init(&spec, &context);
  if (status != SHARP_COLL_SUCCESS) fprintf(stderr, "%s\n", strerror_of(status));
  MUST(status == SHARP_COLL_SUCCESS);
  struct sharp_coll_caps caps;
  MUST(caps_query(context, &caps) == SHARP_COLL_SUCCESS);

  /* Only leaders have a group: the other ranks make no call. */
  MPI_Comm leaders;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &leaders);
  if (rank % 2 == 0) {
    int me = 0, members = 0;
    MPI_Comm_rank(leaders, &me);
    MPI_Comm_size(leaders, &members);
    current = leaders;
    struct sharp_coll_comm_init_spec of;
    POISON(of); /* group_world_ranks stays garbage */
    of.rank = me;
    of.size = members;
    struct sharp_coll_comm* group = NULL;
    MUST(comm_init(context, &of, &group) == SHARP_COLL_SUCCESS);
    for (int round = 0; round < 50; ++round) {
      MUST(do_barrier(group) == SHARP_COLL_SUCCESS);
      long in[300], out[300];
      for (int i = 0; i < 300; ++i) in[i] = me + i + round;
      struct sharp_coll_reduce_spec sum;
      POISON(sum);
      sum.root = round % members;
      sum.sbuf_desc.type = sum.rbuf_desc.type = SHARP_DATA_BUFFER;
      sum.sbuf_desc.mem_type = sum.rbuf_desc.mem_type = SHARP_MEM_TYPE_HOST;
      sum.sbuf_desc.buffer.ptr = in;
      sum.sbuf_desc.buffer.length = sizeof in;
      sum.sbuf_desc.buffer.mem_handle = NULL;
      sum.rbuf_desc.buffer.ptr = out;
      sum.rbuf_desc.buffer.length = sizeof out;
      sum.rbuf_desc.buffer.mem_handle = NULL;
      sum.dtype = SHARP_DTYPE_LONG;
      sum.length = 300;
      sum.op = SHARP_OP_SUM;
      sum.aggr_mode = SHARP_AGGREGATION_NONE;
      MUST(do_allreduce(group, &sum) == SHARP_COLL_SUCCESS);
      for (int i = 0; i < 300; ++i) MUST(out[i] == (long)members * (i + round) + members * (members - 1) / 2);
      memset(out, 0, sizeof out);
      if (me != sum.root) POISON(sum.rbuf_desc);
      MUST(do_reduce(group, &sum) == SHARP_COLL_SUCCESS);
      MUST(out[7] == (me == sum.root ? (long)members * (7 + round) + members * (members - 1) / 2 : 0));
      struct sharp_coll_bcast_spec tell;
      POISON(tell);
      tell.root = round % members;
      tell.size = sizeof in;
      tell.buf_desc.type = SHARP_DATA_BUFFER;
      tell.buf_desc.mem_type = SHARP_MEM_TYPE_HOST;
      tell.buf_desc.buffer.ptr = in;
      tell.buf_desc.buffer.length = sizeof in;
      tell.buf_desc.buffer.mem_handle = NULL;
      MUST(do_bcast(group, &tell) == SHARP_COLL_SUCCESS);
      MUST(in[9] == tell.root + 9 + round);
    }
    MUST(dump_stats(context) == SHARP_COLL_SUCCESS);
    MUST(comm_destroy(group) == SHARP_COLL_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  current = MPI_COMM_WORLD;
  MUST(finalize(context) == SHARP_COLL_SUCCESS);
  dlclose(library);
  MPI_Comm_free(&leaders);
  if (rank == 0) puts("mvapich: passed");
  MPI_Finalize();
  return 0;
}
