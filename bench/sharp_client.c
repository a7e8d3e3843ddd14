/* sharp-client: a plain client of libsharp_coll, measured like collbench: what the tree takes without MPI's layers above.
 * MPI starts the ranks and serves the library's out-of-band callbacks while job and group are made; between start and
 * stop nothing that is timed goes through it.
 *
 *   SHARP_COLL_ENABLE_SAT=1 mpirun -n 16 sharp-client --case barrier --case allreduce:8:200 --case allreduce:16M:3:1 */
#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/driver.h"

static struct sharp_coll_context* context;
static struct sharp_coll_comm* comm;

static int oob_bcast(void* unused, void* buffer, int length, int root) {
  (void)unused;
  return MPI_Bcast(buffer, length, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int oob_barrier(void* unused) {
  (void)unused;
  return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int oob_gather(void* unused, int root, void* send, void* receive, int length) {
  (void)unused;
  return MPI_Gather(send, length, MPI_BYTE, receive, length, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int start(void) {
  int rank = 0, size = 0, local_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm local;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &local);
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm_free(&local);
  uint64_t job_id =
      ((uint64_t)time(NULL) << 20) ^ (uint64_t)getpid();  // need only differ from other jobs of this fabric
  MPI_Bcast(&job_id, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);

  struct sharp_coll_init_spec init;
  memset(&init, 0, sizeof init);
  init.job_id = job_id;
  init.world_rank = rank;
  init.world_size = size;
  init.world_local_rank = local_rank;
  init.config = sharp_coll_default_config;
  init.config.ib_dev_list = "";
  init.oob_colls.bcast = oob_bcast;
  init.oob_colls.barrier = oob_barrier;
  init.oob_colls.gather = oob_gather;
  const int code = sharp_coll_init(&init, &context);
  if (code != SHARP_COLL_SUCCESS) return code;
  struct sharp_coll_comm_init_spec group;
  memset(&group, 0, sizeof group);
  group.rank = rank;
  group.size = size;
  return sharp_coll_comm_init(context, &group, &comm);
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

static struct sharp_coll_data_desc describe(void* buffer, size_t bytes) {
  struct sharp_coll_data_desc d;
  memset(&d, 0, sizeof d);
  d.type = SHARP_DATA_BUFFER;
  d.mem_type = SHARP_MEM_TYPE_HOST;
  d.buffer.ptr = buffer;
  d.buffer.length = bytes;
  return d;
}

static int call_barrier(const bench_call* a) {
  (void)a;
  return sharp_coll_do_barrier(comm);
}

static int call_allreduce(const bench_call* a) {
  struct sharp_coll_reduce_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.sbuf_desc = describe((void*)a->send, a->count * bench_type_bytes(a->type));
  spec.rbuf_desc = describe(a->receive, a->count * bench_type_bytes(a->type));
  spec.dtype = sharp_type(a->type);
  spec.length = a->count;
  spec.op = SHARP_OP_SUM;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  spec.aggr_mode = SHARP_AGGREGATION_NONE;
  return sharp_coll_do_allreduce(comm, &spec);
}

static const bench_collective kCollectives[] = {
    {"barrier", 0, call_barrier},
    {"allreduce", 1, call_allreduce},
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
