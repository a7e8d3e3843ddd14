/* The column "bare": the collectives as one writes them first, in shared memory between forked processes. Everybody copies
 * its data into a slot of its own, raises its number, waits for the others' and reads theirs. No types, no errors, no MPI:
 * what the machine charges for moving the bytes. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/host/area.h"
#include "bench/host/world.h"

/* Two slots per rank, used in turn: whoever sees everybody's number n knows that nobody reads slots of n - 1 any more. */
enum { kLine = 128, kSlotBytes = 8 << 20, kInline = 64, kSpinsBeforeYield = 200 };

typedef struct {
  _Alignas(kLine) _Atomic uint32_t number;
  _Alignas(8) char payload[kInline]; /* small data travels in the flag's own line */
} flag_line;

static struct shared {
  flag_line lines[2][kAreaRanksMax];
  char slots[];
} * shared;

static int my_rank, rank_count, must_yield;
static uint32_t number;

int world_early_rank(void) { return -1; }
int world_rank(void) { return my_rank; }
int world_size(void) { return rank_count; }
const char* world_explain(int code) { return strerror(code); }
void world_abort(void) { exit(3); }

static void child_died(int signal_number) {
  (void)signal_number;
  int status = 0;
  while (waitpid(-1, &status, WNOHANG) > 0)
    if (status != 0) _exit(3);
}

int world_start(int* argc, char*** argv, int ranks) {
  (void)argc, (void)argv;
  if (ranks > kAreaRanksMax) return EINVAL;
  rank_count = ranks;
  must_yield = ranks > (int)sysconf(_SC_NPROCESSORS_ONLN);
  const size_t bytes = sizeof *shared + 2 * (size_t)ranks * kSlotBytes;
  /* Pages appear when they are written: 16 ranks that send 8 bytes pay for 8 bytes. */
  shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED) return errno;
  signal(SIGCHLD, child_died);
  for (int rank = 1; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return errno;
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_DFL);
    my_rank = rank;
    break;
  }
  return 0;
}

int world_stop(void) { return 0; }

static char* slot_of(int rank) { return shared->slots + ((size_t)rank * 2 + number % 2) * kSlotBytes; }
static flag_line* line_of(int rank) { return &shared->lines[number % 2][rank]; }

static void raise_mine(void) { atomic_store_explicit(&line_of(my_rank)->number, number, memory_order_release); }

static void wait_for(int rank) {
  _Atomic uint32_t* word = &line_of(rank)->number;
  for (unsigned spins = 0; atomic_load_explicit(word, memory_order_acquire) != number; ++spins)
    if (must_yield && spins > kSpinsBeforeYield) sched_yield();
}

static void wait_for_all(void) {
  for (int rank = 0; rank < rank_count; ++rank)
    if (rank != my_rank) wait_for(rank);
}

static const void* data_of(int rank, size_t bytes) { return bytes <= kInline ? line_of(rank)->payload : slot_of(rank); }

static void give(const void* data, size_t bytes) { memcpy((void*)data_of(my_rank, bytes), data, bytes); }

/* Rank order, so that all have the same bits. The inner loop is plain: built with -O3 it uses vectors. */
static void fold_all(const world_arguments* a, size_t first, size_t count) {
  const size_t width = bench_type_bytes(a->type), bytes = a->count * width;
  for (int rank = 0; rank < rank_count; ++rank) {
    const char* from = (const char*)data_of(rank, bytes) + first * width;
    char* to = (char*)a->receive + first * width;
    if (rank == 0) {
      memcpy(to, from, count * width);
    } else if (a->type == kBenchDouble) {
      for (size_t i = 0; i < count; ++i) ((double*)to)[i] += ((const double*)from)[i];
    } else {
      for (size_t i = 0; i < count; ++i) ((float*)to)[i] += ((const float*)from)[i];
    }
  }
}

/* Larger than the first cache: in pieces, so that the second rank's piece meets the first's while it is still there. */
static void fold_in_pieces(const world_arguments* a) {
  enum { kPiece = 4096 };
  for (size_t first = 0; first < a->count; first += kPiece)
    fold_all(a, first, a->count - first < kPiece ? a->count - first : kPiece);
}

int world_call(world_kind kind, const world_arguments* a) {
  const size_t bytes = a->count * bench_type_bytes(a->type);
  const size_t all = kind == kAlltoall || kind == kScatter ? bytes * (size_t)rank_count : bytes;
  if (a->is_char || a->form != kPlain) return ENOTSUP;
  if (all > kSlotBytes) return E2BIG;
  number += 1;
  switch (kind) {
    case kBarrier:
      raise_mine();
      wait_for_all();
      return 0;
    case kAllreduce:
      give(a->send, bytes);
      raise_mine();
      wait_for_all();
      fold_in_pieces(a);
      return 0;
    case kReduce: /* that root has read is known to the others from the untimed barrier before the next call */
      give(a->send, bytes);
      raise_mine();
      if (my_rank != 0) return 0;
      wait_for_all();
      fold_in_pieces(a);
      return 0;
    case kBcast: /* likewise */
      if (my_rank == 0) {
        give(a->receive, bytes);
        raise_mine();
        return 0;
      }
      wait_for(0);
      memcpy(a->receive, data_of(0, bytes), bytes);
      return 0;
    case kAllgather:
      give(a->send, bytes);
      raise_mine();
      wait_for_all();
      for (int rank = 0; rank < rank_count; ++rank)
        memcpy((char*)a->receive + (size_t)rank * bytes, data_of(rank, bytes), bytes);
      return 0;
    case kAlltoall:
      give(a->send, all);
      raise_mine();
      wait_for_all();
      for (int rank = 0; rank < rank_count; ++rank)
        memcpy((char*)a->receive + (size_t)rank * bytes, (const char*)data_of(rank, all) + (size_t)my_rank * bytes,
               bytes);
      return 0;
    case kGather: /* that root has read is known to the others from the untimed barrier before the next call */
      give(a->send, bytes);
      raise_mine();
      if (my_rank != 0) return 0;
      wait_for_all();
      for (int rank = 0; rank < rank_count; ++rank)
        memcpy((char*)a->receive + (size_t)rank * bytes, data_of(rank, bytes), bytes);
      return 0;
    case kScatter: /* likewise */
      if (my_rank == 0) {
        give(a->send, all);
        raise_mine();
      } else {
        wait_for(0);
      }
      memcpy(a->receive, (const char*)data_of(0, all) + (size_t)my_rank * bytes, bytes);
      return 0;
    case kScan:
    case kExscan:
    case kReduceScatter:
    case kScatterv:
    case kAllgatherv:
    case kAlltoallv:
    case kWorldKinds: break;
  }
  return ENOTSUP;
}

int world_post(world_kind kind, const world_arguments* arguments) { return (void)kind, (void)arguments, ENOTSUP; }
int world_wait(void) { return ENOTSUP; }
int world_dup(void) { return ENOTSUP; }
int world_split(void) { return ENOTSUP; }
int world_current_size(void) { return world_size(); }
int world_free_dup(void) { return ENOTSUP; }
