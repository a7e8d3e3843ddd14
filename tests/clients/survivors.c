/* This program calls libsharp_coll where tests/mpi/survivors.c calls MPI. */
#include "mpi/survivors.h"

#include <sharp/api/sumac_ext.h>

#include "oob.h"

static int all_reduce(void* group, long* in, long* out, int count) {
  struct sharp_coll_reduce_spec spec;
  POISON(spec);
  describe(&spec.sbuf_desc, in, (size_t)count * sizeof *in, NULL);
  describe(&spec.rbuf_desc, out, (size_t)count * sizeof *out, NULL);
  spec.dtype = SHARP_DTYPE_LONG;
  spec.op = SHARP_OP_SUM;
  spec.length = (size_t)count;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return sharp_coll_do_allreduce(group, &spec);
}
static int barrier(void* group) { return sharp_coll_do_barrier(group); }
static int bcast(void* group, long* data, int count, int root) {
  struct sharp_coll_bcast_spec spec;
  POISON(spec);
  spec.root = root;
  describe(&spec.buf_desc, data, (size_t)count * sizeof *data, NULL);
  spec.size = (size_t)count * sizeof *data;
  return sharp_coll_do_bcast(group, &spec);
}
static int reason(void* group, int code, char* words, int bytes) {
  (void)sumac_comm_error(group, words, (size_t)bytes);
  return code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm world = MPI_COMM_WORLD;
  struct sharp_coll_init_spec init;
  memset(&init, 0, sizeof init);
  init.config = sharp_coll_default_config;
  init.config.ib_dev_list = "";
  describe_job(&init, &world, rank, size);
  struct sharp_coll_context* context;
  MUST(sharp_coll_init(&init, &context) == SHARP_COLL_SUCCESS);
  struct sharp_coll_comm_init_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.rank = rank;
  spec.size = size;
  spec.oob_ctx = &world;
  struct sharp_coll_comm* group;
  MUST(sharp_coll_comm_init(context, &spec, &group) == SHARP_COLL_SUCCESS);
  const struct collectives calls = {group, all_reduce, barrier, bcast, reason};
  return survive(argc > 1 ? argv[1] : ".", &calls);
}
