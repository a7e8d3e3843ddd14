/* An OpenSHMEM program: shmem [ROUNDS] calls barrier_all, sum_to_all and broadcast once in each round, with other numbers and
 * another root each time, and checks all of every result. Open MPI's OpenSHMEM makes an MPI collective of each (scoll/mpi). */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kElements = 100 };

/* Symmetric objects: every PE has them at the same place. Neighbouring rounds use different halves, because a PE may begin a
 * round while another still ends the one before. */
static long sum_sync[2][SHMEM_REDUCE_SYNC_SIZE];
static long broadcast_sync[2][SHMEM_BCAST_SYNC_SIZE];
static long work[2][kElements + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long source[2][kElements], sum[2][kElements], received[2][kElements];

static long value(long round, int pe, int i) { return round * 977 + i * 31L + pe * 7L; }

static void wrong(const char* operation, long round, int i, long found, long expected) {
  fprintf(stderr, "shmem: WRONG at PE %d: %s, round %ld, element %d is %ld instead of %ld\n", shmem_my_pe(), operation,
          round, i, found, expected);
  shmem_global_exit(3);
}

static void run_round(long round, int pe, int pes) {
  int half = (int)(round % 2), root = (int)(round % pes);
  for (int i = 0; i < kElements; ++i) {
    source[half][i] = value(round, pe, i);
    received[half][i] = -1;
  }
  shmem_barrier_all();
  shmem_long_sum_to_all(sum[half], source[half], kElements, 0, 0, pes, work[half], sum_sync[half]);
  shmem_broadcast64(received[half], source[half], kElements, root, 0, 0, pes, broadcast_sync[half]);
  for (int i = 0; i < kElements; ++i) {
    long expected = pes * value(round, 0, i) + 7L * pes * (pes - 1) / 2;
    if (sum[half][i] != expected) wrong("sum_to_all", round, i, sum[half][i], expected);
    /* OpenSHMEM says that a broadcast leaves the root's own target untouched; MPI's has nothing to write there. */
    expected = pe == root ? -1 : value(round, root, i);
    if (received[half][i] != expected) wrong("broadcast", round, i, received[half][i], expected);
  }
}

int main(int argc, char** argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 10;
  shmem_init();
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sum_sync[half][i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) broadcast_sync[half][i] = SHMEM_SYNC_VALUE;
  }
  int pe = shmem_my_pe(), pes = shmem_n_pes();
  for (long round = 0; round < rounds; ++round) run_round(round, pe, pes);
  if (0 == pe) printf("shmem: %ld rounds right on %d PEs\n", rounds, pes);
  shmem_finalize();
  return 0;
}
