/* sharp-memory: what a client of libsharp_coll costs in memory, for each group. Makes --groups communicators, streams a vector
 * through each, all at once, and tells how much this process has grown beside the vectors that it owns itself.
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

/* Three times a vector of its own through each group, through all of them at once. */
static void exercise(struct sharp_coll_comm** comms, int groups, float* vectors, size_t bytes, int rank) {
  const size_t count = bytes / sizeof(float);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 3; ++i) {
    void* requests[kGroupsMax];
    for (size_t k = 0; k < count * (size_t)groups; ++k) vectors[k] = (float)rank;
    for (int g = 0; g < groups; ++g) {
      struct sharp_coll_reduce_spec spec;
      memset(&spec, 0, sizeof spec);
      spec.sbuf_desc = sharp_describe(vectors + count * (size_t)g, bytes);
      spec.rbuf_desc = spec.sbuf_desc;
      spec.dtype = SHARP_DTYPE_FLOAT;
      spec.length = count;
      spec.op = SHARP_OP_MAX;
      spec.tag_dtype = SHARP_DTYPE_NULL;
      const int code = sharp_coll_do_allreduce_nb(comms[g], &spec, &requests[g]);
      if (code != SHARP_COLL_SUCCESS) die(rank, "allreduce", code);
    }
    for (int g = 0; g < groups; ++g) {
      const int code = sharp_coll_req_wait(requests[g]);
      if (code != SHARP_COLL_SUCCESS) die(rank, "allreduce", code);
    }
    for (size_t k = 0; k < count * (size_t)groups; ++k)
      if (vectors[k] != (float)(size - 1)) die(rank, "allreduce gave a wrong result", SHARP_COLL_ERROR);
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
  float* buffer = malloc(bytes * (size_t)groups);
  if (buffer == NULL) die(rank, "no memory for the vectors", SHARP_COLL_ENOMEM);
  memset(buffer, 1, bytes * (size_t)groups);  // in memory before anything is compared
  if ((code = sharp_start(&context)) != SHARP_COLL_SUCCESS) die(rank, "init", code);
  void* mr = NULL;
  if ((code = sharp_coll_reg_mr(context, buffer, bytes * (size_t)groups, &mr)) != SHARP_COLL_SUCCESS)
    die(rank, "reg_mr", code);
  // The first group brings what there is once only: pages of code, arenas of the allocator.
  struct sharp_coll_comm* first = NULL;
  if ((code = sharp_group(context, &first)) != SHARP_COLL_SUCCESS) die(rank, "comm_init", code);
  exercise(&first, 1, buffer, bytes, rank);
  const long before = anonymous_bytes();
  for (int i = 0; i < groups; ++i)
    if ((code = sharp_group(context, &comms[i])) != SHARP_COLL_SUCCESS) die(rank, "comm_init", code);
  exercise(comms, groups, buffer, bytes, rank);
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
