/* Three libraries in one process: the MPI's collectives, by whatever serves them, teams of libucc, and a job of libsharp_coll.
 * The program opens libucc twice, as Open MPI's component does, which may be refused, and for itself. Each rank becomes a host,
 * where it may, so that all go between hosts. Operations of all three are under way together. */
#include <sched.h>
#include <unistd.h>

#include "oob.h"
#include "ucc_rank.h"

#define COUNT 300

static int rank, size;
static MPI_Comm world = MPI_COMM_WORLD;

static int gather(const void* in, void* out, size_t bytes) {
  return MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, world) == MPI_SUCCESS ? 0 : -1;
}

static void fill(int64_t* in, int64_t* out, int round) {
  for (int i = 0; i < COUNT; ++i) in[i] = i + rank + round, out[i] = -1;
}
static int is_sum(const int64_t* out, int round) {
  for (int i = 0; i < COUNT; ++i)
    if (out[i] != (int64_t)size * (i + round) + (int64_t)size * (size - 1) / 2) return 0;
  return 1;
}

int main(int argc, char** argv) {
  const int has_job = argc > 1 && strcmp(argv[1], "job") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Barrier(world);

  MUST(ucc_rank_open("OMPI", rank, size, gather) == 0);
  const int64_t one = 1;
  int64_t all = 0;
  const int of_mpi = ucc_rank_post(&one, &all, 1);
  MUST(of_mpi < 0 || (ucc_rank_wait() == 0 && all == size));
  MUST(ucc_rank_close() == 0);

  char name[32];
  snprintf(name, sizeof name, "host-%d", rank);
  MUST(!has_job || unshare(CLONE_NEWUTS) != 0 || sethostname(name, strlen(name)) == 0);
  MUST(ucc_rank_open("BESIDE", rank, size, gather) == 0);

  struct sharp_coll_context* job = NULL;
  struct sharp_coll_comm* comm = NULL;
  if (has_job) {
    struct sharp_coll_init_spec init;
    memset(&init, 0, sizeof init);
    describe_job(&init, &world, rank, size);
    init.config = sharp_coll_default_config;
    MUST(sharp_coll_init(&init, &job) == SHARP_COLL_SUCCESS);
    struct sharp_coll_comm_init_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.rank = rank;
    spec.size = size;
    spec.oob_ctx = &world;
    MUST(sharp_coll_comm_init(job, &spec, &comm) == SHARP_COLL_SUCCESS);
  }

  for (int round = 0; round < 30; ++round) {
    int64_t in[3][COUNT], out[3][COUNT];
    for (int way = 0; way < 3; ++way) fill(in[way], out[way], round + way);
    MUST(ucc_rank_post(in[0], out[0], COUNT) == 0);
    void* posted = NULL;
    if (has_job) {
      struct sharp_coll_reduce_spec spec;
      POISON(spec);
      describe(&spec.sbuf_desc, in[1], sizeof in[1], NULL);
      describe(&spec.rbuf_desc, out[1], sizeof out[1], NULL);
      spec.dtype = SHARP_DTYPE_LONG;
      spec.length = COUNT;
      spec.op = SHARP_OP_SUM;
      spec.aggr_mode = SHARP_AGGREGATION_NONE;
      MUST(sharp_coll_do_allreduce_nb(comm, &spec, &posted) == SHARP_COLL_SUCCESS);
    }
    MUST(MPI_Allreduce(in[2], out[2], COUNT, MPI_INT64_T, MPI_SUM, world) == MPI_SUCCESS);
    MUST(posted == NULL || sharp_coll_req_wait(posted) == SHARP_COLL_SUCCESS);
    MUST(ucc_rank_wait() == 0);
    MUST(is_sum(out[0], round) && (!has_job || is_sum(out[1], round + 1)) && is_sum(out[2], round + 2));
  }

  if (has_job) {
    MUST(sharp_coll_comm_destroy(comm) == SHARP_COLL_SUCCESS);
    MUST(sharp_coll_finalize(job) == SHARP_COLL_SUCCESS);
  }
  MUST(ucc_rank_close() == 0);
  if (rank == 0) printf("ucc-beside: passed, coll/ucc: %s\n", of_mpi < 0 ? "stands aside" : "serves");
  MPI_Finalize();
  return 0;
}
