/* This program hangs if a waiting collective does not drive its MPI: rank 0 posts a large Isend and enters the barrier,
 * rank 1 receives first. The message moves only while rank 0 is inside MPI, so its barrier must call back. Run it under
 * mpirun with 2 ranks. */
#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int oob_bcast(void* unused, void* buffer, int length, int root) {
  (void)unused;
  return MPI_Bcast(buffer, length, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int oob_barrier(void* unused) {
  (void)unused;
  return MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int oob_gather(void* unused, int root, void* mine, void* all, int length) {
  (void)unused;
  return MPI_Gather(mine, length, MPI_BYTE, all, length, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int drive_mpi(void) {
  int flag = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS ? flag : -1;
}

static void must(int code, const char* what) {
  if (code == SHARP_COLL_SUCCESS) return;
  fprintf(stderr, "%s: %s (%d)\n", what, sharp_coll_strerror(code), code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  enum { kBytes = 8 << 20 };
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  struct sharp_coll_init_spec init;
  memset(&init, 0, sizeof init);
  init.job_id = (uint64_t)getpid() << 8;
  MPI_Bcast(&init.job_id, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  init.world_rank = rank;
  init.world_size = size;
  init.progress_func = drive_mpi;
  init.config = sharp_coll_default_config;
  init.oob_colls.bcast = oob_bcast;
  init.oob_colls.barrier = oob_barrier;
  init.oob_colls.gather = oob_gather;
  struct sharp_coll_context* context = NULL;
  must(sharp_coll_init(&init, &context), "sharp_coll_init");
  struct sharp_coll_comm_init_spec group;
  memset(&group, 0, sizeof group);
  group.rank = rank;
  group.size = size;
  struct sharp_coll_comm* comm = NULL;
  must(sharp_coll_comm_init(context, &group, &comm), "sharp_coll_comm_init");

  char* data = malloc(kBytes);
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int round = 0; round < 5; ++round) {
    if (rank == 0) {
      MPI_Request request;
      memset(data, round + 1, kBytes);
      MPI_Isend(data, kBytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &request);
      must(sharp_coll_do_barrier(comm), "barrier after Isend");
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(data, kBytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (data[0] != round + 1 || data[kBytes - 1] != round + 1) MPI_Abort(MPI_COMM_WORLD, 2);
      must(sharp_coll_do_barrier(comm), "barrier after Recv");
    } else {
      must(sharp_coll_do_barrier(comm), "barrier");
    }
  }
  free(data);
  must(sharp_coll_comm_destroy(comm), "sharp_coll_comm_destroy");
  must(sharp_coll_finalize(context), "sharp_coll_finalize");
  if (rank == 0) printf("5 rounds went through\n");
  MPI_Finalize();
  return 0;
}
