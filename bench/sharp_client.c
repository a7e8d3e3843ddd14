/* sharp-client: a plain client of libsharp_coll, measured like collbench: what the tree takes without MPI's layers above.
 * MPI starts the ranks and serves the library's out-of-band callbacks while job and group are made; between start and
 * stop nothing that is timed goes through it.
 *
 *   SHARP_COLL_ENABLE_SAT=1 mpirun -n 16 sharp-client --case barrier --case allreduce:8:200 --case allreduce:16M:3:1 */
#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <string.h>

#include "bench/driver.h"
#include "bench/sharp_start.h"

static struct sharp_coll_context* context;
static struct sharp_coll_comm* comm;

static int start(void) {
  const int code = sharp_start(&context);
  return code != SHARP_COLL_SUCCESS ? code : sharp_group(context, &comm);
}

static int stop(void) {
  const int code = sharp_coll_comm_destroy(comm);
  return code != SHARP_COLL_SUCCESS ? code : sharp_coll_finalize(context);
}

static enum sharp_datatype sharp_type(bench_type type) {
  switch (type) {
    case kBenchInt32: return SHARP_DTYPE_INT;
    case kBenchInt64: return SHARP_DTYPE_LONG;
    case kBenchFloat: return SHARP_DTYPE_FLOAT;
    case kBenchDouble: return SHARP_DTYPE_DOUBLE;
    case kBenchTypes: break;
  }
  return SHARP_DTYPE_NULL;
}

static int call_barrier(const bench_call* a) {
  (void)a;
  return sharp_coll_do_barrier(comm);
}

/* Everybody gives a->count elements and keeps `kept` of the sum. */
static struct sharp_coll_reduce_spec sum_of(const bench_call* a, size_t kept) {
  struct sharp_coll_reduce_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.sbuf_desc = sharp_describe((void*)a->send, a->count * bench_type_bytes(a->type));
  spec.rbuf_desc = sharp_describe(a->receive, kept * bench_type_bytes(a->type));
  spec.dtype = sharp_type(a->type);
  spec.length = kept;
  spec.op = SHARP_OP_SUM;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return spec;
}

static int call_allreduce(const bench_call* a) {
  struct sharp_coll_reduce_spec spec = sum_of(a, a->count);
  return sharp_coll_do_allreduce(comm, &spec);
}

static int call_reduce_scatter(const bench_call* a) {
  struct sharp_coll_reduce_spec spec = sum_of(a, a->block);
  return sharp_coll_do_reduce_scatter(comm, &spec);
}

static int call_allgather(const bench_call* a) {
  struct sharp_coll_gather_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.sbuf_desc = sharp_describe((void*)a->send, a->block * bench_type_bytes(a->type));
  spec.rbuf_desc = sharp_describe(a->receive, a->count * bench_type_bytes(a->type));
  spec.dtype = sharp_type(a->type);
  spec.size = a->block;
  return sharp_coll_do_allgather(comm, &spec);
}

static const bench_collective kCollectives[] = {
    {"barrier", kBenchNothing, call_barrier},
    {"allreduce", kBenchAllSum, call_allreduce},
    {"reduce_scatter", kBenchSumPart, call_reduce_scatter},
    {"allgather", kBenchGather, call_allgather},
};

int main(int argc, char** argv) {
  const bench_program program = {.name = "sharp-client",
                                 .purpose = "Measures libsharp_coll, without MPI in what is timed.",
                                 .collectives = kCollectives,
                                 .collective_count = sizeof kCollectives / sizeof kCollectives[0],
                                 .explain = sharp_coll_strerror,
                                 .start = start,
                                 .stop = stop};
  return bench_main(argc, argv, &program);
}
