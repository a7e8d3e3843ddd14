/* Computes exact sums: sums BYTES [CALLS] adds up vectors of so many bytes so often, other numbers each time, and
 * checks all of every result. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long bytes = argc > 1 ? atol(argv[1]) : 8, calls = argc > 2 ? atol(argv[2]) : 1;
  int count = (int)(bytes / (long)sizeof(uint32_t));
  uint32_t* in = malloc((size_t)bytes + 1);
  uint32_t* out = malloc((size_t)bytes + 1);
  if (NULL == in || NULL == out || bytes <= 0 || 0 != bytes % (long)sizeof(uint32_t) || calls <= 0) {
    fprintf(stderr, "sums: usage: sums BYTES [CALLS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  for (long call = 0; call < calls; ++call) {
    for (int i = 0; i < count; ++i) in[i] = (uint32_t)(call * 977 + i) * 2654435761u + (uint32_t)rank;
    MPI_Allreduce(in, out, count, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
      uint32_t right = (uint32_t)size * ((uint32_t)(call * 977 + i) * 2654435761u) + (uint32_t)(size * (size - 1) / 2);
      if (out[i] != right) {
        fprintf(stderr, "sums: WRONG on rank %d, call %ld, element %d\n", rank, call, i);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
  if (0 == rank) printf("sums: %ld of %ld bytes right on %d ranks\n", calls, bytes, size);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
