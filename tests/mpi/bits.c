/* Adds up floating-point vectors whose sums depend on the order of the additions, by allreduce, reduce and
 * reduce_scatter_block, and prints one number made of all bits of all results: `bits: 0123456789abcdef on 8 ranks`. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLargest = 1 << 17 }; /* Elements: of this size ranks share the work, a small vector has one way of its own. */

static int rank, size;
static uint64_t bits = 14695981039346656037u;

static void note(const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) bits = (bits ^ ((const unsigned char*)from)[i]) * 1099511628211u;
}

/* Numbers of the same magnitude and of both signs: each addition rounds. */
static double value(int of_rank, int element) {
  uint64_t x = ((uint64_t)of_rank << 32 | (uint32_t)element) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
  return ((double)(x >> 11) / 9007199254740992.0 - 0.5) * 3.0;
}

static int order_matters(int count) {
  int differ = 0;
  for (int i = 0; i < count; ++i) {
    double up = 0, down = 0;
    for (int r = 0; r < size; ++r) {
      up += value(r, i);
      down += value(size - 1 - r, i);
    }
    differ += up != down;
  }
  return differ > 0;
}

static void add(MPI_Datatype type, size_t width, int count, void* in, void* out) {
  for (int i = 0; i < count; ++i) {
    if (width == sizeof(double))
      ((double*)in)[i] = value(rank, i);
    else
      ((float*)in)[i] = (float)value(rank, i);
  }
  MPI_Allreduce(in, out, count, type, MPI_SUM, MPI_COMM_WORLD);
  note(out, (size_t)count * width);
  MPI_Reduce(in, out, count, type, MPI_SUM, size - 1, MPI_COMM_WORLD);
  MPI_Bcast(out, count, type, size - 1, MPI_COMM_WORLD);
  note(out, (size_t)count * width);
  int block = count / size;
  if (block == 0) return;
  MPI_Reduce_scatter_block(in, out, block, type, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgather(out, block, type, in, block, type, MPI_COMM_WORLD);
  note(in, (size_t)block * (size_t)size * width);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void* in = malloc(kLargest * sizeof(double));
  void* out = malloc(kLargest * sizeof(double));
  if (NULL == in || NULL == out || !order_matters(100)) {
    fprintf(stderr, "bits: no memory, or sums that no order changes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int counts[] = {1, 100, 3000, kLargest};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    add(MPI_DOUBLE, sizeof(double), counts[i], in, out);
    add(MPI_FLOAT, sizeof(float), counts[i], in, out);
  }
  uint64_t least, most;
  MPI_Allreduce(&bits, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&bits, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (least != most) {
    fprintf(stderr, "bits: the ranks have other results\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  if (0 == rank) printf("bits: %016llx on %d ranks\n", (unsigned long long)bits, size);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
