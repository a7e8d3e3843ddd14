/* The calls of TCCL: the library is loaded by dlopen, under its plain name or by its soname; nine functions and the
 * default configuration, which is data, come by dlsym; the progress function is never polled; blocking broadcast and
 * allreduce work on registered memory. */
#include <dlfcn.h>

#include "oob.h"

static struct {
  int (*init)(struct sharp_coll_init_spec*, struct sharp_coll_context**);
  int (*finalize)(struct sharp_coll_context*);
  int (*comm_init)(struct sharp_coll_context*, struct sharp_coll_comm_init_spec*, struct sharp_coll_comm**);
  int (*comm_destroy)(struct sharp_coll_comm*);
  int (*reg_mr)(struct sharp_coll_context*, void*, size_t, void**);
  int (*dereg_mr)(struct sharp_coll_context*, void*);
  int (*do_bcast)(struct sharp_coll_comm*, struct sharp_coll_bcast_spec*);
  int (*do_allreduce)(struct sharp_coll_comm*, struct sharp_coll_reduce_spec*);
  const char* (*strerror)(int);
  const struct sharp_coll_config* default_config;
} sharp;

static void find(void* library, const char* name, void* to) {
  char whole[64];
  snprintf(whole, sizeof whole, "sharp_coll_%s", name);
  void* found = dlsym(library, whole);
  if (found == NULL) fprintf(stderr, "%s is missing\n", whole);
  MUST(found != NULL);
  memcpy(to, &found, sizeof found);
}

static void* load(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  MUST(library != NULL);
  find(library, "init", &sharp.init);
  find(library, "finalize", &sharp.finalize);
  find(library, "comm_init", &sharp.comm_init);
  find(library, "comm_destroy", &sharp.comm_destroy);
  find(library, "reg_mr", &sharp.reg_mr);
  find(library, "dereg_mr", &sharp.dereg_mr);
  find(library, "do_bcast", &sharp.do_bcast);
  find(library, "do_allreduce", &sharp.do_allreduce);
  find(library, "strerror", &sharp.strerror);
  find(library, "default_config", &sharp.default_config);
  return library;
}

static void collectives(struct sharp_coll_context* context, struct sharp_coll_comm* comm, int rank, int size) {
  enum { kMost = 50000 };
  float *in = malloc(kMost * sizeof *in), *out = malloc(kMost * sizeof *out);
  void *in_handle = NULL, *out_handle = NULL;
  MUST(in != NULL && out != NULL);
  MUST(sharp.reg_mr(context, in, kMost * sizeof *in, &in_handle) == SHARP_COLL_SUCCESS);
  MUST(sharp.reg_mr(context, out, kMost * sizeof *out, &out_handle) == SHARP_COLL_SUCCESS);
  for (size_t count = 1; count <= kMost; count *= 7) {
    for (size_t i = 0; i < count; ++i) in[i] = (float)(i % 1000) + (float)rank, out[i] = -1;
    struct sharp_coll_reduce_spec sum;
    POISON(sum);
    describe(&sum.sbuf_desc, in, count * sizeof *in, in_handle);
    describe(&sum.rbuf_desc, out, count * sizeof *out, out_handle);
    sum.dtype = SHARP_DTYPE_FLOAT;
    sum.length = count;
    sum.op = SHARP_OP_SUM;
    sum.aggr_mode = SHARP_AGGREGATION_NONE;
    MUST(sharp.do_allreduce(comm, &sum) == SHARP_COLL_SUCCESS);
    for (size_t i = 0; i < count; ++i) MUST(out[i] == (float)size * (float)(i % 1000) + (float)(size * (size - 1) / 2));
    struct sharp_coll_bcast_spec tell;
    POISON(tell);
    tell.root = (int)(count % (size_t)size);
    describe(&tell.buf_desc, in, count * sizeof *in, in_handle);
    tell.size = count * sizeof *in;
    MUST(sharp.do_bcast(comm, &tell) == SHARP_COLL_SUCCESS);
    for (size_t i = 0; i < count; ++i) MUST(in[i] == (float)(i % 1000) + (float)tell.root);
  }
  MUST(sharp.dereg_mr(context, in_handle) == SHARP_COLL_SUCCESS);
  MUST(sharp.dereg_mr(context, out_handle) == SHARP_COLL_SUCCESS);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0, size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  /* TCCL takes the first name that exists; both must work. The second run begins after the first library was
   * unloaded. */
  const char* names[] = {"libsharp_coll.so", "libsharp_coll.so.5"};
  for (int i = 0; i < 2; ++i) {
    void* library = load(names[i]);
    struct sharp_coll_init_spec init;
    POISON(init);
    init.config = *sharp.default_config;
    MUST(init.config.ib_dev_list == NULL || init.config.ib_dev_list[0] == '\0'); /* the default allows any device */
    init.config.user_progress_num_polls = 0;
    init.progress_func = NULL;
    describe_job(&init, &world, rank, size);
    init.group_channel_idx = 0;
    init.enable_thread_support = 0;
    struct sharp_coll_context* context = NULL;
    const int status = sharp.init(&init, &context);
    if (status != SHARP_COLL_SUCCESS) fprintf(stderr, "%s\n", sharp.strerror(status));
    MUST(status == SHARP_COLL_SUCCESS);
    struct sharp_coll_comm_init_spec spec;
    POISON(spec);
    spec.rank = rank;
    spec.size = size;
    spec.oob_ctx = &world;
    struct sharp_coll_comm* comm = NULL;
    MUST(sharp.comm_init(context, &spec, &comm) == SHARP_COLL_SUCCESS);
    collectives(context, comm, rank, size);
    MUST(sharp.comm_destroy(comm) == SHARP_COLL_SUCCESS);
    MUST(sharp.finalize(context) == SHARP_COLL_SUCCESS);
    MUST(dlclose(library) == 0);
  }
  if (rank == 0) puts("tccl: passed");
  MPI_Finalize();
  return 0;
}
