#include "bench/sharp_start.h"

#include <mpi.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

int sharp_start(struct sharp_coll_context** context) {
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
  return sharp_coll_init(&init, context);
}

int sharp_group(struct sharp_coll_context* context, struct sharp_coll_comm** comm) {
  struct sharp_coll_comm_init_spec group;
  memset(&group, 0, sizeof group);
  MPI_Comm_rank(MPI_COMM_WORLD, &group.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &group.size);
  return sharp_coll_comm_init(context, &group, comm);
}

struct sharp_coll_data_desc sharp_describe(void* buffer, size_t bytes) {
  struct sharp_coll_data_desc d;
  memset(&d, 0, sizeof d);
  d.type = SHARP_DATA_BUFFER;
  d.mem_type = SHARP_MEM_TYPE_HOST;
  d.buffer.ptr = buffer;
  d.buffer.length = bytes;
  return d;
}
