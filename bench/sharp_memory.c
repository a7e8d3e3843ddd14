/* sharp-memory: what a client of libsharp_coll costs in memory, for each group. Makes --groups communicators, streams a vector
 * through each, and tells how much this process has grown beside the buffers that it owns itself.
 *
 *   SHARP_COLL_ENABLE_SAT=1 mpirun -n 8 sharp-memory --groups 4 --bytes 1M */
#include <getopt.h>
#include <mpi.h>
#include <sharp/api/sharp_coll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/sharp_start.h"

enum { kGroupsMax = 64 };

/* Memory of our own that is in use just now, in bytes; pages of files are not ours. */
static long anonymous_bytes(void) {
  char line[256];
  long kib = -1;
  FILE* file = fopen("/proc/self/status", "r");
  if (file == NULL) return -1;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "RssAnon: %ld kB", &kib) == 1) break;
  fclose(file);
  return kib < 0 ? -1 : kib * 1024;
}

static void die(int rank, const char* what, int code) {
  fprintf(stderr, "sharp-memory: rank %d: %s: %s\n", rank, what, sharp_coll_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

static void exercise(struct sharp_coll_comm* comm, float* buffer, size_t bytes, int rank) {
  struct sharp_coll_reduce_spec spec;
  memset(&spec, 0, sizeof spec);
  spec.sbuf_desc = sharp_describe(buffer, bytes);
  spec.rbuf_desc = spec.sbuf_desc;
  spec.dtype = SHARP_DTYPE_FLOAT;
  spec.length = bytes / sizeof(float);
  spec.op = SHARP_OP_MAX;
  spec.tag_dtype = SHARP_DTYPE_NULL;
  for (int i = 0; i < 3; ++i) {
    for (size_t k = 0; k < spec.length; ++k) buffer[k] = (float)rank;
    const int code = sharp_coll_do_allreduce(comm, &spec);
    if (code != SHARP_COLL_SUCCESS) die(rank, "allreduce", code);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t k = 0; k < spec.length; ++k)
      if (buffer[k] != (float)(size - 1)) die(rank, "allreduce gave a wrong result", SHARP_COLL_ERROR);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, groups = 4, code = 0;
  size_t bytes = 1 << 20;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static const struct option kOptions[] = {{"groups", required_argument, NULL, 'g'},
                                           {"bytes", required_argument, NULL, 'b'},
                                           {"help", no_argument, NULL, 'h'},
                                           {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", kOptions, NULL)) != -1;) {
    if (option == 'g') groups = atoi(optarg);
    if (option == 'b' && bench_parse_bytes(optarg, &bytes) != 0) bytes = 0;
    if (option == 'h' || option == '?' || groups < 1 || groups > kGroupsMax || bytes < 4 || bytes % 4 != 0) {
      if (rank == 0)
        printf("usage: mpirun -n RANKS sharp-memory [--groups 1..%d] [--bytes SIZE, a multiple of 4]\n", kGroupsMax);
      MPI_Finalize();
      return option == 'h' ? 0 : 2;
    }
  }
  struct sharp_coll_context* context = NULL;
  struct sharp_coll_comm* comms[kGroupsMax];
  float* buffer = malloc(bytes);
  if (buffer == NULL) die(rank, "no memory for the vector", SHARP_COLL_ENOMEM);
  if ((code = sharp_start(&context)) != SHARP_COLL_SUCCESS) die(rank, "init", code);
  void* mr = NULL;
  if ((code = sharp_coll_reg_mr(context, buffer, bytes, &mr)) != SHARP_COLL_SUCCESS) die(rank, "reg_mr", code);
  // The first group brings what there is once only: pages of code, arenas of the allocator.
  struct sharp_coll_comm* first = NULL;
  if ((code = sharp_group(context, &first)) != SHARP_COLL_SUCCESS) die(rank, "comm_init", code);
  exercise(first, buffer, bytes, rank);
  const long before = anonymous_bytes();
  for (int i = 0; i < groups; ++i) {
    if ((code = sharp_group(context, &comms[i])) != SHARP_COLL_SUCCESS) die(rank, "comm_init", code);
    exercise(comms[i], buffer, bytes, rank);
  }
  const long grown = anonymous_bytes() - before;
  long most = 0;
  MPI_Reduce(&grown, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("{\"program\":\"sharp-memory\",\"ranks\":%d,\"groups\":%d,\"bytes\":%zu,\"grown\":%ld,\"per_group\":%ld}\n",
           size, groups, bytes, most, most / groups);
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < groups; ++i) sharp_coll_comm_destroy(comms[i]);
  sharp_coll_comm_destroy(first);
  sharp_coll_dereg_mr(context, mr);
  free(buffer);
  code = sharp_coll_finalize(context);
  MPI_Finalize();
  return code == SHARP_COLL_SUCCESS ? 0 : 1;
}
